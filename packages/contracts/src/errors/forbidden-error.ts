import { CodedError } from './coded-error.ts'

/**
 * The request is not allowed: its date is too far off, or its key may only read; or the gateway accepts the emulator's
 * well-known key, and the request names another host than loopback, or comes from a web page of another machine.
 *
 * @remedy Set the clock of the client, use a key that may write, or start the gateway with your own key.
 */
export class ForbiddenError extends CodedError {
  override readonly name = 'ForbiddenError'
  readonly code = 'ERR_FORBIDDEN'
  readonly retryable = false
}
