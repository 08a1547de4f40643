import { CodedError } from '@tidemark/contracts'
import { BadInputError } from './request-errors.ts'

const MOST_BYTES = 256 * 1024

/** The body of an action is too large. */
export class BodyTooLargeError extends CodedError {
  override readonly name = 'BodyTooLargeError'
  readonly code = 'ERR_REQUEST_TOO_LARGE'
  readonly retryable = false
}

/** Rejects with ERR_REQUEST_TOO_LARGE, and reads no more than that. */
export async function readBodyText({ body }: Request): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    const read: unknown = piece
    if (!(read instanceof Uint8Array)) throw new BadInputError('the body is no bytes')
    bytes += read.byteLength
    if (bytes > MOST_BYTES) {
      throw new BodyTooLargeError(`the body of an action has at most ${MOST_BYTES} bytes`)
    }
    pieces.push(read)
  }
  return Buffer.concat(pieces).toString('utf8')
}
