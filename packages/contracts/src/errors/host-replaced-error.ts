import { CodedError } from './coded-error.ts'

/**
 * Another process joined the group under this host's name. The newer host wins, and this one has stopped.
 *
 * @remedy Give each host of a group a unique `hostName`.
 */
export class HostReplacedError extends CodedError {
  override readonly name = 'HostReplacedError'
  readonly code = 'ERR_HOST_REPLACED'
  readonly retryable = false
}
