import { CodedError } from './coded-error.ts'

/** A processor group had not done in time what was in its feed. It goes on from where it stands. */
export class NotCaughtUpError extends CodedError {
  override readonly name = 'NotCaughtUpError'
  readonly code = 'ERR_NOT_CAUGHT_UP'
  readonly retryable = true
}
