import { CodedError } from '@tidemark/contracts'

/** The request is signed, but its date is off, or its key may only read. */
export class ForbiddenError extends CodedError {
  override readonly name = 'ForbiddenError'
  readonly code = 'ERR_FORBIDDEN'
  readonly retryable = false
}
