import { optionRule } from '@tidemark/contracts'

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
