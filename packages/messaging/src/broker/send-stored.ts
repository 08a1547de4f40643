import type { NewMessage } from '@tidemark/store/messages'
import { MessageNotFoundError } from '../errors/message-not-found-error.ts'
import type { EntityCommands } from './entity-commands.ts'
import { assertSize, sendRefusal } from './send-refusals.ts'

/** Together: all or none. Resolves with their numbers when they are durable; a duplicate has none. */
export async function sendStored(
  commands: EntityCommands,
  messages: readonly NewMessage[],
  signal: AbortSignal | undefined,
): Promise<readonly (number | undefined)[]> {
  if (messages.length === 0) return []
  const record = await commands.record()
  try {
    assertSize(record, messages)
  } catch (error) {
    // An activity, successful or not (TMP-10).
    if (record.settings.autoDeleteOnIdleMs !== undefined) await commands.perform('touch', {})
    throw error
  }
  const answer = await commands.send(messages, signal)
  if (answer.kind === 'sent') return answer.numbers
  throw sendRefusal(await commands.record(), answer)
}

/** All of them, or none. Rejects with ERR_MESSAGE_NOT_FOUND. */
export async function cancelScheduled(
  commands: EntityCommands,
  numbers: readonly number[],
): Promise<void> {
  const { answer } = await commands.perform('cancel', { numbers })
  if (answer.kind === 'cancelled') return
  throw new MessageNotFoundError({ entityPath: commands.path, sequenceNumber: answer.number })
}
