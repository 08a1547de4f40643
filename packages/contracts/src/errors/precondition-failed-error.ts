import { CodedError } from './coded-error.ts'

/** `ifMatch`, `ifNoneMatch` or a patch condition was not met (412 on the wire). Nothing was written. */
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
