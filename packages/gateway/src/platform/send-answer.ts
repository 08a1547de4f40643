import type { ServerResponse } from 'node:http'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import type { Answer } from '../protocol/answer.ts'

/** A text of this size is put together, and written with the head at once. */
const TEXT_CHARS = 16 * 1024
/** A larger one becomes bytes, piece by piece: to put it together as a text first takes ten times as long. */
const CHUNK_BYTES = 256 * 1024
/** Chunks that are kept for other answers: the memory of a new one has to be mapped page by page, which costs more than what is written. */
const SPARE_CHUNKS = 16
/** An answer of this size says how long it is. */
const SIZED_CHARS = 256 * 1024
/** That a UTF-16 unit may have in UTF-8. */
const BYTES_PER_UNIT = 3

/**
 * Sends an answer with these headers, which it completes. Large ones go out in chunks while the socket takes them, so that a slow reader holds one chunk
 * and not a copy of the whole; one that has not taken all when `signal` aborts is cut off. A client that left is no
 * failure. Resolves with how many bytes of a body were handed to the socket.
 */
export async function sendAnswer(
  outgoing: ServerResponse,
  { status, body }: Answer,
  { headers, signal }: { readonly headers: Record<string, string>; readonly signal: AbortSignal },
): Promise<number> {
  if (outgoing.destroyed || outgoing.writableEnded) return 0
  if (body === undefined) {
    outgoing.writeHead(status, headers)
    outgoing.end()
    return 0
  }
  headers['content-type'] ??= 'application/json'
  let chars = 0
  for (const piece of body) chars += piece.length
  if (chars <= TEXT_CHARS) {
    // As text, not bytes: Node then writes head and body to the socket at once.
    const text = body.length === 1 ? (body[0] ?? '') : body.join('')
    const bytes = Buffer.byteLength(text)
    headers['content-length'] = String(bytes)
    outgoing.writeHead(status, headers)
    // Where each character is one byte, it is ASCII, and the same in an encoding that is cheaper to write.
    outgoing.end(text, bytes === text.length ? 'latin1' : 'utf8')
    return bytes
  }
  const chunks = chars <= SIZED_CHARS ? Array.from(chunksOf(body)) : chunksOf(body)
  if (Array.isArray(chunks)) {
    const length = chunks.reduce((sum, { bytes: { length: each } }) => sum + each, 0)
    headers['content-length'] = String(length)
  }
  outgoing.writeHead(status, headers)
  let sent = 0
  for (const { bytes, taken } of chunks) {
    // A fast reader takes each chunk at once, and others would wait for the last one.
    if (sent > 0) await eventLoopTurn()
    if (outgoing.destroyed) return sent
    sent += bytes.length
    if (!outgoing.write(bytes, taken)) await drained(outgoing, signal)
  }
  if (!outgoing.destroyed) outgoing.end()
  return sent
}

interface Chunk {
  readonly bytes: Buffer
  /** Called when the system has the bytes, or without them with an error. */
  readonly taken: (error?: Error | null) => void
}

const spare: Buffer[] = []

function* chunksOf(pieces: readonly string[]): Generator<Chunk, void> {
  let chunk: Buffer | undefined
  let used = 0
  for (const piece of pieces) {
    const most = piece.length * BYTES_PER_UNIT
    if (chunk !== undefined && most > CHUNK_BYTES - used) {
      yield spareChunk(chunk, used)
      chunk = undefined
    }
    if (most > CHUNK_BYTES) {
      yield { bytes: Buffer.from(piece), taken: () => {} }
      continue
    }
    if (chunk === undefined) {
      chunk = spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)
      used = 0
    }
    used += chunk.write(piece, used)
  }
  if (chunk !== undefined) yield spareChunk(chunk, used)
}

/** After an error nobody knows whether the bytes are still looked at. */
function spareChunk(chunk: Buffer, used: number): Chunk {
  const taken: Chunk['taken'] = (error) => {
    if (!error && spare.length < SPARE_CHUNKS) spare.push(chunk)
  }
  return { bytes: chunk.subarray(0, used), taken }
}

/** Until the socket takes more, or is gone. By hand: signals and what they are aborted with cost a twentieth of sending pages. */
export async function drained(outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onAbort = (): void => {
    outgoing.destroy()
    resolve()
  }
  outgoing.on('drain', resolve).on('close', resolve).on('error', reject)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    await promise
  } finally {
    outgoing.off('drain', resolve).off('close', resolve).off('error', reject)
    signal.removeEventListener('abort', onAbort)
  }
}
