import { CodedError } from './coded-error.ts'

/**
 * A patch operation cannot be applied: its path is bad, its target is missing or has the wrong type, or the property
 * is protected.
 *
 * @remedy Correct the operation that the message names.
 */
export class InvalidPatchError extends CodedError {
  override readonly name = 'InvalidPatchError'
  readonly code = 'ERR_INVALID_PATCH'
  readonly retryable = false
}
