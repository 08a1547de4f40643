import { CodedError } from './coded-error.ts'

/**
 * The store was written by a newer Tidemark, has a format that this version cannot read, or has not been migrated yet.
 * It was not touched.
 *
 * @remedy Use the newer version, or run `tidemark store migrate` if the message says so.
 */
export class StoreFormatError extends CodedError {
  override readonly name = 'StoreFormatError'
  readonly code = 'ERR_STORE_FORMAT'
  readonly retryable = false
}
