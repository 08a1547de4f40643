import { CodedError } from './coded-error.ts'

/**
 * Another process joined the group under this host's name. The newcomer wins, and this host stopped.
 *
 * @remedy Give each host of a group a `hostName` of its own.
 */
export class HostReplacedError extends CodedError {
  override readonly name = 'HostReplacedError'
  readonly code = 'ERR_HOST_REPLACED'
  readonly retryable = false
}
