import { CodedError } from './coded-error.ts'

/** A document's JSON text is above the limit (2 MiB of UTF-8 unless configured otherwise). Nothing was written. */
export class DocumentTooLargeError extends CodedError {
  override readonly name = 'DocumentTooLargeError'
  readonly code = 'ERR_DOCUMENT_TOO_LARGE'
  readonly retryable = false
}
