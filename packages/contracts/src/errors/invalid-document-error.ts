import { CodedError } from './coded-error.ts'

/** A document cannot be stored: no object, an `id` that is missing or has reserved characters, or a value that JSON cannot carry. */
export class InvalidDocumentError extends CodedError {
  override readonly name = 'InvalidDocumentError'
  readonly code = 'ERR_INVALID_DOCUMENT'
  readonly retryable = false
}
