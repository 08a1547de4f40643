import { CodedError } from './coded-error.ts'

/**
 * A processor group did not work off its feed in the time given. It goes on from where it stands.
 *
 * @remedy Wait again, allow more time, or look at `cause` and at the health of the hosts.
 */
export class NotCaughtUpError extends CodedError {
  override readonly name = 'NotCaughtUpError'
  readonly code = 'ERR_NOT_CAUGHT_UP'
  readonly retryable = true
}
