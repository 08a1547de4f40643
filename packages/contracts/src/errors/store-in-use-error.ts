import { CodedError } from './coded-error.ts'

/**
 * The folder or schema already holds something else. It was not touched.
 *
 * @remedy Choose an empty or a new folder, or another schema.
 */
export class StoreInUseError extends CodedError {
  override readonly name = 'StoreInUseError'
  readonly code = 'ERR_STORE_IN_USE'
  readonly retryable = false
}
