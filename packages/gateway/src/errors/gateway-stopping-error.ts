import { CodedError } from '@tidemark/contracts'

/** The gateway is stopping; another attempt meets its successor. */
export class GatewayStoppingError extends CodedError {
  override readonly name = 'GatewayStoppingError'
  readonly code = 'ERR_GATEWAY_STOPPING'
  readonly retryable = true
}
