import { CodedError } from './coded-error.ts'

/** A batch or atomic commit has more operations, or more text, than one commit may. Nothing was sent or written. */
export class CommitTooLargeError extends CodedError {
  override readonly name = 'CommitTooLargeError'
  readonly code = 'ERR_COMMIT_TOO_LARGE'
  readonly retryable = false
}
