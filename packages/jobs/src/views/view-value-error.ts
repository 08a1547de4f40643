import { CodedError } from '@tidemark/contracts'

/**
 * `by` or a fold made something of a document that a view cannot keep, such as a sum of texts. The message says what.
 *
 * @remedy Let the function return what the message names, or undefined to leave the document out.
 */
export class ViewValueError extends CodedError {
  override readonly name = 'ViewValueError'
  readonly code = 'ERR_VIEW_VALUE'
  readonly retryable = false
}
