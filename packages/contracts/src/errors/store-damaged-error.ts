import { CodedError } from './coded-error.ts'

/**
 * A file or table of the store is damaged or missing. The message names it; nothing was written.
 *
 * @remedy Restore it from a backup. `tidemark store check` and `store.check()` say what is affected.
 */
export class StoreDamagedError extends CodedError {
  override readonly name = 'StoreDamagedError'
  readonly code = 'ERR_STORE_DAMAGED'
  readonly retryable = false
}
