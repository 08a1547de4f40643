import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  describeValue,
  optionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'

const MAX_ID_CHARACTERS = 128

/**
 * Ids and names of sessions become columns and keys. What one engine cannot store, or takes for another text, is refused by
 * all: NUL and halves of surrogate pairs, which cutting a text between the two leaves.
 */
export const messageIdRule: ReturnType<typeof optionRule> = optionRule(
  `a text of at most ${MAX_ID_CHARACTERS} characters, without NUL and without half of a surrogate pair`,
  isMessageId,
)

/** Nobody could accept a session without a name. */
export const sessionIdRule: ReturnType<typeof optionRule> = optionRule(
  `a text of 1 to ${MAX_ID_CHARACTERS} characters, without NUL and without half of a surrogate pair`,
  isSessionId,
)

/** The properties of a message that are ids, or are compared with one. */
export interface MessageIds {
  readonly messageId?: string | undefined
  readonly partitionKey?: string | undefined
  readonly sessionId?: string | undefined
  readonly replyToSessionId?: string | undefined
}

export const ID_RULES: OptionRules<MessageIds> = {
  messageId: messageIdRule,
  partitionKey: messageIdRule,
  sessionId: sessionIdRule,
  replyToSessionId: messageIdRule,
}

/** Of a message that came as bytes. @throws ERR_INVALID_OPTION */
export function checkMessageIds(ids: MessageIds): void {
  const { messageId = '', partitionKey = '', replyToSessionId = '', sessionId } = ids
  const isRight =
    isMessageId(messageId) &&
    isMessageId(partitionKey) &&
    isMessageId(replyToSessionId) &&
    (sessionId === undefined || isSessionId(sessionId))
  // It finds what is wrong, and takes longer than all else that is checked of a message.
  if (!isRight) checkOptions(ids, ID_RULES)
  checkPartitionKey(ids)
}

/** @throws ERR_INVALID_OPTION */
export function checkPartitionKey({ sessionId, partitionKey }: MessageIds): void {
  if (sessionId === undefined || partitionKey === undefined || sessionId === partitionKey) return
  throw new InvalidOptionError(
    `partitionKey must equal sessionId when both are given, got ${describeValue(partitionKey)}`,
  )
}

/** Whether a text can name a session: 1 to 128 characters, without NUL and without half of a surrogate pair. */
export function isSessionId(value: unknown): boolean {
  return isMessageId(value) && value !== ''
}

function isMessageId(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.length <= MAX_ID_CHARACTERS &&
    !value.includes('\0') &&
    value.isWellFormed()
  )
}
