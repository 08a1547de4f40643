import { CodedError } from './coded-error.ts'

/**
 * A processor group did not catch up with its feed in the given time. It continues from its current position.
 *
 * @remedy Wait again, allow more time, or look at `cause` and at the health of the hosts.
 */
export class NotCaughtUpError extends CodedError {
  override readonly name = 'NotCaughtUpError'
  readonly code = 'ERR_NOT_CAUGHT_UP'
  readonly retryable = true
}
