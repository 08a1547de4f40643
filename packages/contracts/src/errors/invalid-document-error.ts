import { CodedError } from './coded-error.ts'

/**
 * A document cannot be stored: it is no object, its `id` is missing or has reserved characters, or it has a value that
 * JSON cannot carry.
 *
 * @remedy Correct the property that the message names.
 */
export class InvalidDocumentError extends CodedError {
  override readonly name = 'InvalidDocumentError'
  readonly code = 'ERR_INVALID_DOCUMENT'
  readonly retryable = false
}
