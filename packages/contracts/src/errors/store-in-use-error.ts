import { CodedError } from './coded-error.ts'

/** What is there is not a Tidemark store. It was not touched. */
export class StoreInUseError extends CodedError {
  override readonly name = 'StoreInUseError'
  readonly code = 'ERR_STORE_IN_USE'
  readonly retryable = false
}
