import { CodedError } from '@tidemark/contracts'

/**
 * What a client sent is no AMQP message, or one with a value that AMQP does not allow there. Nothing was stored.
 *
 * @remedy Send the message with a library for AMQP 1.0.
 */
export class MalformedMessageError extends CodedError {
  override readonly name = 'MalformedMessageError'
  readonly code = 'ERR_MALFORMED_MESSAGE'
  readonly retryable = false
}
