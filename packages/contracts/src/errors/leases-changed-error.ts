import { CodedError } from './coded-error.ts'

/**
 * Other processes kept changing the group's leases while an operator changed them. The message says what was done
 * before.
 *
 * @remedy Run the command again. Pause the group first if hosts keep joining and leaving.
 */
export class LeasesChangedError extends CodedError {
  override readonly name = 'LeasesChangedError'
  readonly code = 'ERR_LEASES_CHANGED'
  readonly retryable = true
}
