import { CodedError } from './coded-error.ts'

/**
 * Another host owns the lease, or the lease was deleted. The checkpoint that failed was not written.
 *
 * @remedy End the call of your observer. The new owner continues from the last checkpoint, and repeats the changes
 * after it.
 */
export class LeaseLostError extends CodedError {
  override readonly name = 'LeaseLostError'
  readonly code = 'ERR_LEASE_LOST'
  readonly retryable = false
  readonly leaseId: string

  constructor(leaseId: string, options?: ErrorOptions) {
    super(`lease ${leaseId} was lost`, options)
    this.leaseId = leaseId
  }
}
