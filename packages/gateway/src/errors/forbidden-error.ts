import { CodedError } from '@tidemark/contracts'

/**
 * The signature is right, but the request is not allowed: its date is too far off, or its key may only read.
 *
 * @remedy Set the clock of the client, or use a key that may write.
 */
export class ForbiddenError extends CodedError {
  override readonly name = 'ForbiddenError'
  readonly code = 'ERR_FORBIDDEN'
  readonly retryable = false
}
