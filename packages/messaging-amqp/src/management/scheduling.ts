import { InvalidOptionError } from '@tidemark/contracts'
import type { NewMessage } from '@tidemark/messaging/front'
import { decodeTransfer, PLAIN_FORMAT } from '../messages/decode-transfer.ts'
import type { ManagementCall } from './management-call.ts'
import { longs } from './wire-values.ts'

/**
 * All or none. The official client gives the instant in the messages themselves. A duplicate has the number 0. In a transaction
 * numbers are given before anybody knows whether messages are stored, and are never given again.
 */
export async function scheduleMessages({
  fields,
  context,
  transaction,
}: ManagementCall): Promise<object> {
  const { front, path } = context
  const messages = fields.maps('messages').map((entry, index) => {
    const bytes = entry.binary('message')
    const [message] = decodeTransfer({ format: PLAIN_FORMAT, bytes }, front.random)
    return scheduled(message, index)
  })
  if (transaction !== undefined) {
    const reserved = await front.reserveNumbers(path, messages.length)
    const numbered = messages.map((message, at) => ({ ...message, number: reserved[at] }))
    transaction.add({ kind: 'send', path, messages: numbered })
    return { 'sequence-numbers': longs(reserved) }
  }
  const numbers = await front.send(path, messages)
  return { 'sequence-numbers': longs(numbers.map((number) => number ?? 0)) }
}

/** All or none. */
export async function cancelScheduledMessages({
  fields,
  context: { front, path },
  transaction,
}: ManagementCall): Promise<object> {
  const numbers = fields.sequenceNumbers('sequence-numbers')
  if (transaction === undefined) await front.cancelScheduled(path, numbers)
  else transaction.add({ kind: 'cancel', path, numbers })
  return {}
}

function scheduled(message: NewMessage | undefined, index: number): NewMessage {
  if (message?.scheduledMs !== undefined) return message
  throw new InvalidOptionError(
    `messages[${index}].message must have the annotation x-opt-scheduled-enqueue-time, a timestamp`,
  )
}
