import { CodedError } from './coded-error.ts'

/**
 * The group's leases changed again and again while an operator was changing them. The message says what was done until
 * then.
 *
 * @remedy Run the command again. Pause the group first if hosts keep joining and leaving.
 */
export class LeasesChangedError extends CodedError {
  override readonly name = 'LeasesChangedError'
  readonly code = 'ERR_LEASES_CHANGED'
  readonly retryable = true
}
