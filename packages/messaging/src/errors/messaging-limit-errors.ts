import { CodedError } from '@tidemark/contracts'

/**
 * A message, all messages of one call, or a session's state, is above the entity's `maxMessageSizeInKilobytes`, or
 * the messages of one call make more copies in the subscriptions of a topic than one transaction may: 10,000, or 256 MiB,
 * one for each subscription. Nothing was stored.
 *
 * @remedy Send less in one call (see `createMessageBatch`), make the message smaller, or store its large part elsewhere and
 * send a reference to it.
 */
export class MessageSizeExceededError extends CodedError {
  override readonly name = 'MessageSizeExceededError'
  readonly code = 'ERR_MESSAGE_SIZE_EXCEEDED'
  readonly retryable = false

  constructor(
    size: {
      readonly entityPath: string
      readonly bytes?: number | undefined
      /** Undefined: they make too many copies. */
      readonly maxBytes: number | undefined
    },
    options?: ErrorOptions,
  ) {
    const found = size.bytes === undefined ? 'more' : `${size.bytes} bytes`
    super(
      size.maxBytes === undefined
        ? `The messages of one call to '${size.entityPath}' make more copies in subscriptions than one call may.`
        : `The messaging entity '${size.entityPath}' takes at most ${size.maxBytes} bytes in one message or call, got ${found}.`,
      options,
    )
  }
}

/**
 * The entity holds as much as its `maxSizeInMegabytes` allows. Nothing was stored.
 *
 * @remedy Receive messages, also from the dead-letter queue, or raise `maxSizeInMegabytes`.
 */
export class QuotaExceededError extends CodedError {
  override readonly name = 'QuotaExceededError'
  readonly code = 'ERR_QUOTA_EXCEEDED'
  readonly retryable = false
  readonly entityPath: string

  constructor(
    quota: { readonly entityPath: string; readonly maxBytes: number },
    options?: ErrorOptions,
  ) {
    super(
      `The messaging entity '${quota.entityPath}' is full: it holds the ${quota.maxBytes} bytes that it may.`,
      options,
    )
    this.entityPath = quota.entityPath
  }
}
