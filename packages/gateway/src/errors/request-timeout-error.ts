import { CodedError } from '@tidemark/contracts'

/** The request took longer than the gateway allows. A write may have happened. */
export class RequestTimeoutError extends CodedError {
  override readonly name = 'RequestTimeoutError'
  readonly code = 'ERR_REQUEST_TIMEOUT'
  readonly retryable = true
}
