import { CodedError } from '@tidemark/contracts'

/** The body of a request is larger than the gateway takes. */
export class RequestTooLargeError extends CodedError {
  override readonly name = 'RequestTooLargeError'
  readonly code = 'ERR_REQUEST_TOO_LARGE'
  readonly retryable = false
}
