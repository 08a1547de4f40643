import { CodedError } from './coded-error.ts'

/** The folder was written by a newer Tidemark, or has a format that this version cannot read. It was not touched. */
export class StoreFormatError extends CodedError {
  override readonly name = 'StoreFormatError'
  readonly code = 'ERR_STORE_FORMAT'
  readonly retryable = false
}
