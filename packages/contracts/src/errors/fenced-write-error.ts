import { CodedError } from './coded-error.ts'

/**
 * A write carried an epoch below the highest that the store has seen for its job and range: a newer owner is at work.
 * The write was not applied.
 *
 * @remedy Do not catch the error. The host releases the range, or gets it back at a higher epoch, automatically.
 */
export class FencedWriteError extends CodedError {
  override readonly name = 'FencedWriteError'
  readonly code = 'ERR_FENCED_WRITE'
  readonly retryable = false
  readonly job: string
  readonly epoch: number
  readonly currentEpoch: number

  constructor(job: string, epoch: number, currentEpoch: number) {
    super(`write of job ${job} refused: its epoch ${epoch} is below ${currentEpoch}`)
    this.job = job
    this.epoch = epoch
    this.currentEpoch = currentEpoch
  }
}
