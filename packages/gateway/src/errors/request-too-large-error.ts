import { CodedError } from '@tidemark/contracts'

/**
 * The body of the request is larger than the gateway takes.
 *
 * @remedy Send less at once, or raise `maxBodyBytes`.
 */
export class RequestTooLargeError extends CodedError {
  override readonly name = 'RequestTooLargeError'
  readonly code = 'ERR_REQUEST_TOO_LARGE'
  readonly retryable = false
}
