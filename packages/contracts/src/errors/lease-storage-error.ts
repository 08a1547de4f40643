import { CodedError } from './coded-error.ts'

/** The lease storage is missing and may not be created, or cannot hold leases (LE-2, LE-14). The message names it. */
export class LeaseStorageError extends CodedError {
  override readonly name = 'LeaseStorageError'
  readonly code = 'ERR_LEASE_STORAGE'
  readonly retryable = false
}
