import { CodedError } from './coded-error.ts'

/** The lease store did not answer. Whether the operation happened is unknown; every lease operation may be repeated. */
export class LeaseStoreUnavailableError extends CodedError {
  override readonly name = 'LeaseStoreUnavailableError'
  readonly code = 'ERR_LEASE_STORE_UNAVAILABLE'
  readonly retryable = true
}
