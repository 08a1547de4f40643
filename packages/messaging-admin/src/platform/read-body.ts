import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'

/** What descriptions need, many times over. */
const MAX_BYTES = 256 * 1024

/**
 * The body of a request; undefined for one that is too large, of which no more is read. Rejects with ERR_INVALID_REQUEST for
 * what is not UTF-8, and with the connection's error when the client goes away.
 */
export async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  if (Number(incoming.headers['content-length'] ?? 0) > MAX_BYTES) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  // The stream stays open, so that the answer can still be sent.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue
    bytes += chunk.length
    if (bytes > MAX_BYTES) return undefined
    chunks.push(chunk)
  }
  const whole = Buffer.concat(chunks)
  if (!isUtf8(whole)) throw new InvalidRequestError('The body must be UTF-8.')
  return whole.toString('utf8').replace(/^\ufeff/, '')
}
