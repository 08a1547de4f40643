import { CodedError } from '@tidemark/contracts'

/**
 * The client closed the connection before its answer. It appears in logs only.
 *
 * @remedy Nothing, unless it is frequent: then look at the time limits of your clients and of proxies between.
 */
export class ClientGoneError extends CodedError {
  override readonly name = 'ClientGoneError'
  readonly code = 'ERR_CLIENT_GONE'
  readonly retryable = false
}
