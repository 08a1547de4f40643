import { CodedError } from './coded-error.ts'

/** The lease store keeps nothing through a restart (level D), and that was not allowed. The message says what to set. */
export class LeaseStoreVolatileError extends CodedError {
  override readonly name = 'LeaseStoreVolatileError'
  readonly code = 'ERR_LEASE_STORE_VOLATILE'
  readonly retryable = false
}
