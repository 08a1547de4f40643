import { CodedError } from './coded-error.ts'

/**
 * The lease store did not answer. Whether the operation happened is unknown.
 *
 * @remedy Try again: every lease operation may be repeated. Hosts do so by themselves, and stop working on their
 * ranges before anybody else may take them.
 */
export class LeaseStoreUnavailableError extends CodedError {
  override readonly name = 'LeaseStoreUnavailableError'
  readonly code = 'ERR_LEASE_STORE_UNAVAILABLE'
  readonly retryable = true
}
