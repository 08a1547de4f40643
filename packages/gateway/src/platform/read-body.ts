import { BadRequestError } from '@tidemark/contracts'
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { NOT_SUPPORTED, refusalOf } from '../errors/not-supported.ts'
import { UnsupportedRequestError } from '../errors/unsupported-request-error.ts'
import { ClientGoneError } from '../errors/client-gone-error.ts'
import { RequestTooLargeError } from '../errors/request-too-large-error.ts'

/**
 * The body of a request as text, read once. Stops reading where the limit is passed, or `hold` throws, which is told how
 * many bytes are held.
 *
 * Rejects with ERR_REQUEST_TOO_LARGE, ERR_BAD_REQUEST when it is no UTF-8, with ERR_CLIENT_GONE when the body is cut
 * off, and with the signal's reason.
 */
export function readBody(
  incoming: IncomingMessage,
  {
    maxBytes,
    hold,
    signal,
  }: {
    readonly maxBytes: number
    readonly hold: (bytes: number) => void
    readonly signal: AbortSignal
  },
): Promise<string> {
  const announced = Number(incoming.headers['content-length'] ?? 0)
  if (announced > maxBytes) return Promise.reject(tooLarge(maxBytes))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const chunks: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    try {
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      hold(bytes)
      chunks.push(chunk)
    } catch (error) {
      incoming.pause()
      reject(error)
    }
  }
  const onEnd = (): void => {
    const [only] = chunks
    const whole = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
    if (isBinary(whole)) {
      reject(new UnsupportedRequestError(refusalOf(NOT_SUPPORTED.binaryBodies)))
      return
    }
    // Bytes that are none would become other characters, and be kept so.
    if (isUtf8(whole)) resolve(whole.toString('utf8'))
    else reject(new BadRequestError('the body is not UTF-8'))
  }
  const onGone = (): void => {
    if (!incoming.complete) reject(new ClientGoneError('the body was cut off'))
  }
  const onAbort = (): void => reject(signal.reason)
  incoming.on('data', onData)
  incoming.once('end', onEnd)
  incoming.once('error', onGone)
  incoming.once('close', onGone)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return promise.finally(() => {
    incoming.off('data', onData)
    incoming.off('end', onEnd)
    incoming.off('close', onGone)
    signal.removeEventListener('abort', onAbort)
  })
}

/** What is left of a body would be taken for the next request: the connection has to end. */
export function isUnread({ complete, method }: IncomingMessage): boolean {
  return !complete && method !== 'GET'
}

export function tooLarge(maxBytes: number): RequestTooLargeError {
  return new RequestTooLargeError(`the body of the request has more than ${maxBytes} bytes`)
}

/** HybridRow begins with 0x81; neither a control character nor the middle of a character begins a text. */
function isBinary([first = 0x20]: Uint8Array): boolean {
  return first < 0x09 || (first & 0xc0) === 0x80
}
