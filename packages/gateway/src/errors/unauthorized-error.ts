import { CodedError } from '@tidemark/contracts'

/** The signature is missing, malformed or wrong. The message never says what would have been right. */
export class UnauthorizedError extends CodedError {
  override readonly name = 'UnauthorizedError'
  readonly code = 'ERR_UNAUTHORIZED'
  readonly retryable = false
}
