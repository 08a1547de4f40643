import { CodedError } from '@tidemark/contracts'

/**
 * The request is not allowed: its date is too far off, or its key may only read; or the gateway accepts the emulator's well-known key,
 * and the request came by another name than those of loopback, or from a page of another machine.
 *
 * @remedy Set the clock of the client, use a key that may write, or start the gateway with a key of your own.
 */
export class ForbiddenError extends CodedError {
  override readonly name = 'ForbiddenError'
  readonly code = 'ERR_FORBIDDEN'
  readonly retryable = false
}
