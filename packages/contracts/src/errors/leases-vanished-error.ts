import { CodedError } from './coded-error.ts'

/**
 * The leases of a group that was running are gone from the lease store, and cannot be made anew or are not to be.
 * Hosts stop rather than start from "now".
 */
export class LeasesVanishedError extends CodedError {
  override readonly name = 'LeasesVanishedError'
  readonly code = 'ERR_LEASES_VANISHED'
  readonly retryable = false
}
