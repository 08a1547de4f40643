import { assertNever } from '@tidemark/contracts/internal'
import type { EntityRecord, NewMessage, ParcelAnswer } from '@tidemark/store/messages'
import { MessageSizeExceededError, QuotaExceededError } from '../errors/messaging-limit-errors.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'

/**
 * One call is one transfer to the official service, too: together its messages are no larger than the largest one.
 *
 * @throws ERR_MESSAGE_SIZE_EXCEEDED
 */
export function assertSize(
  { path: entityPath, settings }: EntityRecord,
  messages: readonly NewMessage[],
): void {
  const { maxMessageBytes: maxBytes } = settings
  const bytes = messages.reduce((sum, message) => sum + message.bytes, 0)
  if (bytes > maxBytes) throw new MessageSizeExceededError({ entityPath, bytes, maxBytes })
}

/** Why the messages of a call were not sent. */
export function sendRefusal(
  { path: entityPath, settings }: EntityRecord,
  answer: Exclude<ParcelAnswer, { kind: 'sent' }>,
): Error {
  switch (answer.kind) {
    case 'full':
      return new QuotaExceededError({ entityPath, maxBytes: settings.maxBytes })
    case 'tooLarge':
      return new MessageSizeExceededError({ entityPath, maxBytes: settings.maxMessageBytes })
    case 'tooManyCopies':
      return new MessageSizeExceededError({ entityPath, maxBytes: undefined })
    case 'needsSession':
      return new MessagingNotAllowedError(
        `'${entityPath}' requires sessions: each message needs a sessionId`,
      )
    default:
      return assertNever(answer)
  }
}
