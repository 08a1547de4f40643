import { CodedError } from '@tidemark/contracts'

/** Something of the protocol that this gateway does not do; the message names it. */
export class UnsupportedRequestError extends CodedError {
  override readonly name = 'UnsupportedRequestError'
  readonly code = 'ERR_UNSUPPORTED_REQUEST'
  readonly retryable = false
}
