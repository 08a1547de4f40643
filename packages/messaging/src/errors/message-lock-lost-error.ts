import { CodedError } from '@tidemark/contracts'

/**
 * The message's lock has ended, the message was settled before, or the token never was one. The message was not changed
 * by this call.
 *
 * @remedy Receive the message again; its `deliveryCount` is one higher. If handling takes longer than the lock, renew the
 * lock, or raise the entity's `lockDuration`.
 */
export class MessageLockLostError extends CodedError {
  override readonly name = 'MessageLockLostError'
  readonly code = 'ERR_MESSAGE_LOCK_LOST'
  readonly retryable = false

  constructor(entityPath: string, options?: ErrorOptions) {
    super(
      `The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue '${entityPath}'.`,
      options,
    )
  }
}
