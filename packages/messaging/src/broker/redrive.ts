import { readableHead } from '../messages/message-codec.ts'
import type { EntityCommands } from './entity-commands.ts'

/** Messages that one transaction moves, and bytes of those that are read for it. */
const PIECE = 100
const PIECE_BYTES = 4 * 1024 * 1024

/**
 * Moves messages of a dead-letter queue back to its owner; all that are there now, if no numbers are given. A damaged one
 * stays.
 */
export async function redriveDeadLetters(
  queue: EntityCommands,
  options: {
    readonly sequenceNumbers: readonly number[] | undefined
    readonly signal: AbortSignal | undefined
  },
): Promise<readonly number[]> {
  const wanted = options.sequenceNumbers && new Set(options.sequenceNumbers)
  const moved: number[] = []
  let from = wanted === undefined ? 0 : Math.min(...wanted)
  const end = wanted === undefined ? Infinity : Math.max(...wanted)
  while (from <= end) {
    options.signal?.throwIfAborted()
    const { answer } = await queue.perform('peek', {
      session: undefined,
      fromNumber: from,
      max: PIECE,
      maxBytes: PIECE_BYTES,
    })
    const last = answer.messages.at(-1)
    if (last === undefined) break
    from = last.number + 1
    const messages = answer.messages
      .filter(({ number }) => wanted?.has(number) ?? true)
      .flatMap((message) => {
        const head = readableHead(message)
        return head === undefined ? [] : [{ number: message.number, session: head.sessionId }]
      })
    if (messages.length === 0) continue
    const redriven = await queue.perform('redrive', { messages })
    moved.push(...redriven.answer.numbers)
  }
  return moved
}
