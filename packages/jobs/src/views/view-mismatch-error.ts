import { CodedError } from '@tidemark/contracts'

/**
 * A view is kept already in a way that does not fit the options: from another source, with other folds, or by a newer
 * version. Nothing was changed.
 *
 * @remedy Give the view another `version`, which builds it anew beside the present one, or another name.
 */
export class ViewMismatchError extends CodedError {
  override readonly name = 'ViewMismatchError'
  readonly code = 'ERR_VIEW_MISMATCH'
  readonly retryable = false
}
