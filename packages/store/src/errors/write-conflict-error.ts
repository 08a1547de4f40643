import { CodedError } from '@tidemark/contracts'

/**
 * Other writers changed the same document at each of many attempts (449 on the wire). Nothing was written.
 *
 * @remedy Try again later, and spread what is written so often over several documents.
 */
export class WriteConflictError extends CodedError {
  override readonly name = 'WriteConflictError'
  readonly code = 'ERR_WRITE_CONFLICT'
  readonly retryable = true
  readonly resourceId: string

  constructor(resourceId: string, attempts: number) {
    super(`write of ${JSON.stringify(resourceId)} lost ${attempts} races against other writers`)
    this.resourceId = resourceId
  }
}
