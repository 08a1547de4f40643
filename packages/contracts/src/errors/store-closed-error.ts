import { CodedError } from './coded-error.ts'

/** The store was closed; open it again. */
export class StoreClosedError extends CodedError {
  override readonly name = 'StoreClosedError'
  readonly code = 'ERR_STORE_CLOSED'
  readonly retryable = false
}
