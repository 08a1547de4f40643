import { CodedError } from './coded-error.ts'

/**
 * The host is stopping or has stopped, so it cannot serve the call.
 *
 * @remedy Make a new host, or look for the reason why this one stopped in its `stopped` event and in the log.
 */
export class HostStoppedError extends CodedError {
  override readonly name = 'HostStoppedError'
  readonly code = 'ERR_HOST_STOPPED'
  readonly retryable = false
}
