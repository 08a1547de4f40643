import { CodedError } from './coded-error.ts'

/**
 * A batch or an atomic commit has more operations, or more text, than one commit may have. Nothing was sent or
 * written.
 *
 * @remedy Cut it into smaller commits. The message says which limit you met.
 */
export class CommitTooLargeError extends CodedError {
  override readonly name = 'CommitTooLargeError'
  readonly code = 'ERR_COMMIT_TOO_LARGE'
  readonly retryable = false
}
