import { CodedError } from '@tidemark/contracts'

/**
 * The entity does not serve this operation: a message without `sessionId` for an entity that requires sessions, a receiver of
 * an entity that forwards, a sender to a dead-letter queue, a deletion under the resource lock. Nothing was changed.
 *
 * @remedy The message names what is not allowed, and why. Change the call, or the entity.
 */
export class MessagingNotAllowedError extends CodedError {
  override readonly name = 'MessagingNotAllowedError'
  readonly code = 'ERR_MESSAGING_NOT_ALLOWED'
  readonly retryable = false
}
