import { CodedError } from '@tidemark/contracts'

/**
 * The gateway is stopping.
 *
 * @remedy Try again; the request reaches the gateway that follows.
 */
export class GatewayStoppingError extends CodedError {
  override readonly name = 'GatewayStoppingError'
  readonly code = 'ERR_GATEWAY_STOPPING'
  readonly retryable = true
}
