import { CodedError } from './coded-error.ts'

/** The database server is too old, or is of a kind that cannot hold a store. Nothing was written. */
export class UnsupportedServerError extends CodedError {
  override readonly name = 'UnsupportedServerError'
  readonly code = 'ERR_SERVER_UNSUPPORTED'
  readonly retryable = false
}
