import { CodedError } from '@tidemark/contracts'

/** The resource is there, but not for this verb. */
export class MethodNotAllowedError extends CodedError {
  override readonly name = 'MethodNotAllowedError'
  readonly code = 'ERR_METHOD_NOT_ALLOWED'
  readonly retryable = false
}
