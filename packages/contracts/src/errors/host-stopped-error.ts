import { CodedError } from './coded-error.ts'

/** The host is stopping or stopped, so that the call cannot be served. */
export class HostStoppedError extends CodedError {
  override readonly name = 'HostStoppedError'
  readonly code = 'ERR_HOST_STOPPED'
  readonly retryable = false
}
