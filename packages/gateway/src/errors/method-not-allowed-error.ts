import { CodedError } from '@tidemark/contracts'

/**
 * The resource exists, but does not support this verb.
 *
 * @remedy Use one of the verbs that `docs/gateway.md` lists for it.
 */
export class MethodNotAllowedError extends CodedError {
  override readonly name = 'MethodNotAllowedError'
  readonly code = 'ERR_METHOD_NOT_ALLOWED'
  readonly retryable = false
}
