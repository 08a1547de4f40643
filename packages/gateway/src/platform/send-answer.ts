import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Answer } from '../protocol/answer.ts'

/** Pieces are put together up to this size: a write for each document would cost more than the copy. */
const CHUNK_CHARS = 256 * 1024

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
  if (chars <= CHUNK_CHARS) {
    // As text, not bytes: Node then writes head and body to the socket at once.
    const text = body.length === 1 ? (body[0] ?? '') : body.join('')
    const bytes = Buffer.byteLength(text)
    headers['content-length'] = String(bytes)
    outgoing.writeHead(status, headers)
    // Where each character is one byte, it is ASCII, and the same in an encoding that is cheaper to write.
    outgoing.end(text, bytes === text.length ? 'latin1' : 'utf8')
    return bytes
  }
  outgoing.writeHead(status, headers)
  let bytes = 0
  for (const chunk of chunksOf(body)) {
    if (outgoing.destroyed) return bytes
    bytes += chunk.length
    if (!outgoing.write(chunk)) await drained(outgoing, signal)
  }
  if (!outgoing.destroyed) outgoing.end()
  return bytes
}

function* chunksOf(pieces: readonly string[]): Generator<Buffer, void> {
  let from = 0
  let chars = 0
  for (const [index, piece] of pieces.entries()) {
    chars += piece.length
    if (chars < CHUNK_CHARS) continue
    yield Buffer.from(pieces.slice(from, index + 1).join(''))
    from = index + 1
    chars = 0
  }
  if (from < pieces.length) yield Buffer.from(pieces.slice(from).join(''))
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
