import { CodedError } from './coded-error.ts'

/** The leases of the group changed while an operator was changing them, again and again. The message says what was done until then. */
export class LeasesChangedError extends CodedError {
  override readonly name = 'LeasesChangedError'
  readonly code = 'ERR_LEASES_CHANGED'
  readonly retryable = true
}
