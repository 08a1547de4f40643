import { CodedError } from './coded-error.ts'

/** A file of the store is damaged or missing. The message names the file; nothing was written. */
export class StoreDamagedError extends CodedError {
  override readonly name = 'StoreDamagedError'
  readonly code = 'ERR_STORE_DAMAGED'
  readonly retryable = false
}
