import { CodedError } from './coded-error.ts'

/**
 * `ifMatch`, `ifNoneMatch` or the condition of a patch was not met (412 on the wire). Nothing was written.
 *
 * @remedy Read the document again, decide again, and write with its new `_etag`.
 */
export class PreconditionFailedError extends CodedError {
  override readonly name = 'PreconditionFailedError'
  readonly code = 'ERR_PRECONDITION_FAILED'
  readonly retryable = false
  readonly resourceId: string

  constructor(resourceId: string, reason: string, options?: ErrorOptions) {
    super(`precondition of ${JSON.stringify(resourceId)} failed: ${reason}`, options)
    this.resourceId = resourceId
  }
}
