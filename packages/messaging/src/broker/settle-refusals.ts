import { InvalidOptionError } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { DispositionAnswer, EntityRecord, Outcome } from '@tidemark/store/messages'
import { MessageLockLostError } from '../errors/message-lock-lost-error.ts'
import { MessageSizeExceededError } from '../errors/messaging-limit-errors.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { SessionLockLostError } from '../errors/session-lock-errors.ts'

/** The longest reason and description of a dead letter (SET-04). */
const MAX_REASON_CHARACTERS = 4096

/** @throws ERR_INVALID_OPTION when the reason of a dead letter is too long */
export function assertReasons(outcome: Outcome): void {
  if (outcome.kind !== 'deadLetter') return
  const { reason, description } = outcome
  const texts = { deadLetterReason: reason, deadLetterErrorDescription: description }
  for (const [name, text] of Object.entries(texts)) {
    if (text === undefined || text.length <= MAX_REASON_CHARACTERS) continue
    throw new InvalidOptionError(
      `${name} must be a text of at most ${MAX_REASON_CHARACTERS} characters, got ${text.length}`,
    )
  }
}

/** Why a message was not settled. */
export function settleRefusal(
  { path, settings }: Pick<EntityRecord, 'path' | 'settings'>,
  answer: Exclude<DispositionAnswer, 'settled'>,
  sessionId?: string,
): Error {
  switch (answer) {
    case 'lockLost':
      return new MessageLockLostError(path)
    case 'sessionLockLost':
      return new SessionLockLostError(sessionId)
    case 'notAllowed':
      return new MessagingNotAllowedError(
        `messages of the dead-letter queue '${path}' cannot be dead-lettered`,
      )
    case 'tooLarge':
      return new MessageSizeExceededError({
        entityPath: path,
        maxBytes: settings.maxMessageBytes,
      })
    default:
      return assertNever(answer)
  }
}
