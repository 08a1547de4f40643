import { CodedError } from '@tidemark/contracts'

/**
 * No deferred or scheduled message has this sequence number, or it is locked. None of the call's messages was received or
 * cancelled.
 *
 * @remedy Check the sequence number. A deferred message that is locked comes back when its lock ends. A scheduled message
 * cannot be cancelled once it is enqueued.
 */
export class MessageNotFoundError extends CodedError {
  override readonly name = 'MessageNotFoundError'
  readonly code = 'ERR_MESSAGE_NOT_FOUND'
  readonly retryable = false
  readonly sequenceNumber: number

  constructor(
    message: { readonly entityPath: string; readonly sequenceNumber: number },
    options?: ErrorOptions,
  ) {
    super(
      `The message with sequence number ${message.sequenceNumber} could not be found in '${message.entityPath}'.`,
      options,
    )
    this.sequenceNumber = message.sequenceNumber
  }
}
