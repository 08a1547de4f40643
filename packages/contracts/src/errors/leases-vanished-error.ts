import { CodedError } from './coded-error.ts'

/**
 * The leases of a running group are missing from the lease store or damaged, and the feed does not have what is needed
 * to create them again. Hosts stop rather than start from "now".
 *
 * @remedy Restore the lease store or a snapshot of the leases, set `onLeaseStoreLoss: 'recover'`, or start over with
 * `tidemark leases reset` or a new token in `discardExistingLeases`.
 */
export class LeasesVanishedError extends CodedError {
  override readonly name = 'LeasesVanishedError'
  readonly code = 'ERR_LEASES_VANISHED'
  readonly retryable = false

  /** @param what happened; what helps in any case is added */
  constructor(what: string, options?: ErrorOptions) {
    super(
      `${what}. To begin where the start options say, start hosts with a new token in hostOptions.discardExistingLeases`,
      options,
    )
  }
}
