import { CodedError } from './coded-error.ts'

/** A continuation is malformed, or belongs to another collection, range or mode. The message names which. */
export class InvalidContinuationError extends CodedError {
  override readonly name = 'InvalidContinuationError'
  readonly code = 'ERR_INVALID_CONTINUATION'
  readonly retryable = false
}
