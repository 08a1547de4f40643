import { CodedError } from './coded-error.ts'

/**
 * A document's JSON text is above the limit: 2 MiB of UTF-8 unless the store's `maxDocumentBytes` says otherwise.
 * Nothing was written.
 *
 * @remedy Make the document smaller, split it, or keep the large part elsewhere and store a reference to it.
 */
export class DocumentTooLargeError extends CodedError {
  override readonly name = 'DocumentTooLargeError'
  readonly code = 'ERR_DOCUMENT_TOO_LARGE'
  readonly retryable = false
}
