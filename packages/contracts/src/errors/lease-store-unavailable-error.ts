import { CodedError } from './coded-error.ts'

/**
 * The lease store did not answer. Whether the operation happened is unknown.
 *
 * @remedy Try again: every lease operation can be repeated. Hosts do so automatically, and stop working on their ranges
 * before another host may take them.
 */
export class LeaseStoreUnavailableError extends CodedError {
  override readonly name = 'LeaseStoreUnavailableError'
  readonly code = 'ERR_LEASE_STORE_UNAVAILABLE'
  readonly retryable = true
}
