import { CodedError } from './coded-error.ts'

/**
 * A continuation is malformed, or belongs to another collection, range or mode. The message names which.
 *
 * @remedy Pass continuations on exactly as you got them, to the collection and mode they came from. Otherwise start at
 * a new position: a group by `tidemark leases reset` or `seek`, or by a new token in `discardExistingLeases`.
 */
export class InvalidContinuationError extends CodedError {
  override readonly name = 'InvalidContinuationError'
  readonly code = 'ERR_INVALID_CONTINUATION'
  readonly retryable = false
}
