import { CodedError } from '@tidemark/contracts'

/** The client closed the connection before its answer; nobody reads one any more. */
export class ClientGoneError extends CodedError {
  override readonly name = 'ClientGoneError'
  readonly code = 'ERR_CLIENT_GONE'
  readonly retryable = false
}
