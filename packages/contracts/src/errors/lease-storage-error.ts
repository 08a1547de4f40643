import { CodedError } from './coded-error.ts'

/**
 * The lease storage is missing and may not be created, or what is there cannot hold leases. The message names it.
 *
 * @remedy Create the storage, grant the rights that the message names, or give the leases a separate collection or
 * group name.
 */
export class LeaseStorageError extends CodedError {
  override readonly name = 'LeaseStorageError'
  readonly code = 'ERR_LEASE_STORAGE'
  readonly retryable = false
}
