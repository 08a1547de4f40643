import { BadRequestError } from '@tidemark/contracts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ReadableStream } from 'node:stream/web'
import { isUnread, tooLarge } from './read-body.ts'
import { drained } from './send-answer.ts'

/**
 * A request of Node's server as one of the web platform. Its body is read while it is consumed, and rejects with
 * ERR_REQUEST_TOO_LARGE where it passes the limit.
 *
 * @param origin of its URL, whatever the request's target says
 * @throws ERR_BAD_REQUEST when its target or a header is none
 */
export function webRequest(
  incoming: IncomingMessage,
  {
    origin,
    maxBytes,
    signal,
  }: { readonly origin: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Request {
  const { method = 'GET', rawHeaders } = incoming
  const url = wholeUrl(incoming)
  const target = url.replace(/^https?:\/\/[^/]*/i, '')
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    const headers = new Headers()
    for (let at = 0; at < rawHeaders.length; at += 2) {
      headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
    }
    return new Request(`${origin}${target.startsWith('/') ? '' : '/'}${target}`, {
      method,
      headers,
      signal,
      ...(hasBody && { body: ReadableStream.from(limited(incoming, maxBytes)), duplex: 'half' }),
    })
  } catch (cause) {
    throw new BadRequestError('the request has a target or a header that is not valid', { cause })
  }
}

/** Frameworks cut the path under which a handler is mounted, and keep the whole one here. */
function wholeUrl(incoming: IncomingMessage): string {
  const whole: unknown = Reflect.get(incoming, 'originalUrl')
  return typeof whole === 'string' ? whole : (incoming.url ?? '/')
}

async function* limited(incoming: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  const chunks: AsyncIterable<Buffer> = incoming
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

/**
 * Sends a response of the web platform, each piece as soon as it is there and no faster than the client takes them.
 * Resolves with the size of the body in bytes. Rejects when the body fails, and with the signal's reason, which also cancels the body.
 */
export async function sendResponse(
  outgoing: ServerResponse,
  { status, headers, body }: Response,
  signal: AbortSignal,
): Promise<number> {
  outgoing.statusCode = status
  outgoing.setHeaders(headers)
  if (isUnread(outgoing.req)) outgoing.setHeader('connection', 'close')
  if (body === null || outgoing.req.method === 'HEAD') {
    outgoing.end()
    await body?.cancel()
    return 0
  }
  outgoing.flushHeaders()
  const reader = body.getReader()
  // By hand: a pipeline that is aborted waits for the body's next piece, which may never come.
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancel)
  if (signal.aborted) cancel()
  let bytes = 0
  try {
    for (;;) {
      const piece: { readonly done: boolean; readonly value?: unknown } = await reader.read()
      signal.throwIfAborted()
      if (piece.done) break
      const { value } = piece
      if (!(value instanceof Uint8Array)) throw new TypeError('a piece of a body is no bytes')
      bytes += value.length
      if (!outgoing.write(value)) await drained(outgoing, signal)
    }
  } catch (error) {
    cancel()
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
  }
  outgoing.end()
  return bytes
}
