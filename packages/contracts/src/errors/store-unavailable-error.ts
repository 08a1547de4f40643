import { CodedError } from './coded-error.ts'

/** The store cannot be reached or cannot write now (disk full, locked for too long, folder gone). The operation did not happen, unless the message says that its outcome is unknown. */
export class StoreUnavailableError extends CodedError {
  override readonly name = 'StoreUnavailableError'
  readonly code = 'ERR_STORE_UNAVAILABLE'
  readonly retryable = true
}
