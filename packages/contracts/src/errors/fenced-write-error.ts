import { CodedError } from './coded-error.ts'

/** A write carried an epoch below the highest seen for its job and range. It was not applied. */
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
