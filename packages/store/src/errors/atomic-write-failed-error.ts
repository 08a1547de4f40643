import { CodedError } from '@tidemark/contracts'

/**
 * One write of an atomic commit failed, so none was applied. `cause` says why.
 *
 * @remedy Look at the code of `cause` and act on that.
 */
export class AtomicWriteFailedError extends CodedError {
  override readonly name = 'AtomicWriteFailedError'
  readonly code = 'ERR_ATOMIC_WRITE_FAILED'
  readonly retryable = false
  /** Index of the failed write in the call. */
  readonly writeIndex: number
  /**
   * LSN of the live document that was found instead; undefined if there is none, or the commit did not look for one.
   */
  readonly presentLsn: number | undefined
  /** ERR_PRECONDITION_FAILED, ERR_UNIQUE_KEY, ERR_NOT_FOUND for a collection that is gone, or why the document is invalid. */
  override readonly cause: CodedError

  constructor(writeIndex: number, cause: CodedError, presentLsn?: number) {
    super(`write ${writeIndex} of the atomic commit failed: ${cause.message}`, { cause })
    this.writeIndex = writeIndex
    this.presentLsn = presentLsn
    this.cause = cause
  }
}
