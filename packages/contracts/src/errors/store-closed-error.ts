import { CodedError } from './coded-error.ts'

/**
 * The store was closed.
 *
 * @remedy Open it again, and close it only when all work on it has ended.
 */
export class StoreClosedError extends CodedError {
  override readonly name = 'StoreClosedError'
  readonly code = 'ERR_STORE_CLOSED'
  readonly retryable = false
}
