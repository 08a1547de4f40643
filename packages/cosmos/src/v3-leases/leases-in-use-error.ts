import { CodedError } from '@tidemark/contracts'

/**
 * Hosts are still working on the leases that are to be imported or exported. Nothing was changed. The message names them.
 *
 * @remedy Stop the hosts. Leases of hosts that were killed are free when their session, or `expirationIntervalMs`, is
 * over. Then run the command again.
 */
export class LeasesInUseError extends CodedError {
  override readonly name = 'LeasesInUseError'
  readonly code = 'ERR_LEASES_IN_USE'
  readonly retryable = true
}
