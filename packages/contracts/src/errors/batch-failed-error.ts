import { CodedError } from './coded-error.ts'

/**
 * One operation of a transactional batch failed, so none was applied.
 *
 * @remedy Look at `results`: the operation that failed has its own status, the others have 424. Correct it and send
 * the batch again.
 */
export class BatchFailedError extends CodedError {
  override readonly name = 'BatchFailedError'
  readonly code = 'ERR_BATCH_FAILED'
  readonly retryable = false
  /** Position in the batch of the operation that failed. */
  readonly operationIndex: number
  /** Why that operation failed. */
  override readonly cause: CodedError

  constructor(operationIndex: number, cause: CodedError) {
    super(`operation ${operationIndex} of the batch failed: ${cause.message}`, { cause })
    this.operationIndex = operationIndex
    this.cause = cause
  }
}
