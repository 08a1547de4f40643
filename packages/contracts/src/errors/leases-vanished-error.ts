import { CodedError } from './coded-error.ts'

/**
 * The leases of a running group are gone from the lease store or damaged, and cannot be made again from what the feed
 * keeps. Hosts stop rather than start from "now".
 *
 * @remedy Restore the lease store or a snapshot of the leases, set `onLeaseStoreLoss: 'recover'`, or begin again with
 * `discardExistingLeases`.
 */
export class LeasesVanishedError extends CodedError {
  override readonly name = 'LeasesVanishedError'
  readonly code = 'ERR_LEASES_VANISHED'
  readonly retryable = false
}
