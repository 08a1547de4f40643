import { CodedError } from './coded-error.ts'

/** A patch operation cannot be applied: bad path, missing target, wrong type, or a protected property. */
export class InvalidPatchError extends CodedError {
  override readonly name = 'InvalidPatchError'
  readonly code = 'ERR_INVALID_PATCH'
  readonly retryable = false
}
