import { CodedError } from '@tidemark/contracts'

/**
 * A client sent what AMQP 1.0 does not allow, or more than the front takes. Its connection was closed.
 *
 * @remedy Use a client for AMQP 1.0. If it needs more sessions or links, open more connections.
 */
export class ProtocolViolationError extends CodedError {
  override readonly name = 'ProtocolViolationError'
  readonly code = 'ERR_PROTOCOL_VIOLATION'
  readonly retryable = false
  /** Of AMQP. */
  readonly condition: string

  constructor(message: string, condition = 'amqp:framing-error', options?: ErrorOptions) {
    super(message, options)
    this.condition = condition
  }
}
