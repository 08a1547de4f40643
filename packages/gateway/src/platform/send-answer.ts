import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Answer } from '../protocol/answer.ts'

/** A text of this size is put together, and written with the head at once. */
const TEXT_CHARS = 16 * 1024
/** A larger one becomes bytes, piece by piece: to put it together as a text first takes ten times as long. */
const CHUNK_BYTES = 256 * 1024
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
  const chunks = chars <= SIZED_CHARS ? Array.from(chunksOf(body, chars)) : chunksOf(body, chars)
  if (Array.isArray(chunks)) {
    headers['content-length'] = String(chunks.reduce((sum, { length }) => sum + length, 0))
  }
  outgoing.writeHead(status, headers)
  let bytes = 0
  for (const chunk of chunks) {
    if (outgoing.destroyed) return bytes
    bytes += chunk.length
    if (!outgoing.write(chunk)) await drained(outgoing, signal)
  }
  if (!outgoing.destroyed) outgoing.end()
  return bytes
}

function* chunksOf(pieces: readonly string[], chars: number): Generator<Buffer, void> {
  const size = Math.min(CHUNK_BYTES, chars * BYTES_PER_UNIT)
  let free = Buffer.allocUnsafe(size)
  let used = 0
  for (const piece of pieces) {
    const most = piece.length * BYTES_PER_UNIT
    if (most > free.length - used) {
      if (used > 0) yield free.subarray(0, used)
      // What was handed out may still be on its way.
      free = free.subarray(used)
      used = 0
      if (most > size) {
        yield Buffer.from(piece)
        continue
      }
      if (most > free.length) free = Buffer.allocUnsafe(size)
    }
    used += free.write(piece, used)
  }
  if (used > 0) yield free.subarray(0, used)
}

async function drained(outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  const waits = new AbortController()
  const either = AbortSignal.any([waits.signal, signal])
  try {
    await Promise.race([
      once(outgoing, 'drain', { signal: either }),
      once(outgoing, 'close', { signal: either }),
    ])
  } catch (error) {
    if (!signal.aborted) throw error
    outgoing.destroy()
  } finally {
    waits.abort()
  }
}
