import { CodedError } from '@tidemark/contracts'

/**
 * The request took longer than the gateway allows. A write may have happened.
 *
 * @remedy Read smaller pages, make the query cheaper, or raise `requestTimeoutMs`. Read what you wrote before you
 * write it again.
 */
export class RequestTimeoutError extends CodedError {
  override readonly name = 'RequestTimeoutError'
  readonly code = 'ERR_REQUEST_TIMEOUT'
  readonly retryable = true
}
