import { CodedError } from '@tidemark/contracts'

/**
 * A request to manage entities is not what the protocol allows, or asks for what this broker does not have. The message says
 * what was found where. Nothing was changed.
 *
 * @remedy Correct the request. What is not offered is listed in `docs/guide/service-bus-administration.md`.
 */
export class InvalidRequestError extends CodedError {
  override readonly name = 'InvalidRequestError'
  readonly code = 'ERR_INVALID_REQUEST'
  readonly retryable = false
}
