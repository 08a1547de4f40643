import { CodedError } from './coded-error.ts'

/** The folder is not a Tidemark store, or it is held by something that cannot share it. It was not touched. */
export class StoreInUseError extends CodedError {
  override readonly name = 'StoreInUseError'
  readonly code = 'ERR_STORE_IN_USE'
  readonly retryable = false
}
