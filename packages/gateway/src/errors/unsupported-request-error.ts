import { CodedError } from '@tidemark/contracts'

/**
 * The gateway does not do this part of the protocol. The message names it.
 *
 * @remedy See the table in `docs/gateway.md`, which names a way around.
 */
export class UnsupportedRequestError extends CodedError {
  override readonly name = 'UnsupportedRequestError'
  readonly code = 'ERR_UNSUPPORTED_REQUEST'
  readonly retryable = false
}
