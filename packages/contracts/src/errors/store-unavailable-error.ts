import { CodedError } from './coded-error.ts'

/**
 * The store cannot be reached or cannot write now: the disk is full, it was locked for too long, its folder is gone,
 * the server is down. The operation did not happen, unless the message says that its outcome is unknown.
 *
 * @remedy Mend the cause that the message names and try again. If the outcome is unknown, read what you wrote, or make
 * the write idempotent.
 */
export class StoreUnavailableError extends CodedError {
  override readonly name = 'StoreUnavailableError'
  readonly code = 'ERR_STORE_UNAVAILABLE'
  readonly retryable = true
}
