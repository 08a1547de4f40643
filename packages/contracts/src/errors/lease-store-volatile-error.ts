import { CodedError } from './coded-error.ts'

/**
 * The lease store keeps nothing through a restart (durability level D), and that was not allowed.
 *
 * @remedy Make the server durable as the message says, or accept the loss with `allowVolatile`.
 */
export class LeaseStoreVolatileError extends CodedError {
  override readonly name = 'LeaseStoreVolatileError'
  readonly code = 'ERR_LEASE_STORE_VOLATILE'
  readonly retryable = false
}
