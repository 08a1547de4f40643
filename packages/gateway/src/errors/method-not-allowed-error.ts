import { CodedError } from '@tidemark/contracts'

/**
 * The resource is there, but does not know this verb.
 *
 * @remedy Use one of the verbs that `docs/gateway.md` lists for it.
 */
export class MethodNotAllowedError extends CodedError {
  override readonly name = 'MethodNotAllowedError'
  readonly code = 'ERR_METHOD_NOT_ALLOWED'
  readonly retryable = false
}
