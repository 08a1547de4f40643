import { InvalidOptionError } from '@tidemark/contracts'
import type { NewMessage } from '@tidemark/messaging/front'
import { decodeTransfer, PLAIN_FORMAT } from '../messages/decode-transfer.ts'
import type { ManagementCall } from './management-call.ts'
import { longs } from './wire-values.ts'

/** All or none. The official client gives the instant in the messages themselves. A duplicate has the number 0. */
export async function scheduleMessages({ fields, context }: ManagementCall): Promise<object> {
  const { front, path } = context
  const messages = fields.maps('messages').map((entry, index) => {
    const bytes = entry.binary('message')
    const [message] = decodeTransfer({ format: PLAIN_FORMAT, bytes }, front.random)
    return scheduled(message, index)
  })
  const numbers = await front.send(path, messages)
  return { 'sequence-numbers': longs(numbers.map((number) => number ?? 0)) }
}

/** All or none. */
export async function cancelScheduledMessages({
  fields,
  context,
}: ManagementCall): Promise<object> {
  await context.front.cancelScheduled(context.path, fields.sequenceNumbers('sequence-numbers'))
  return {}
}

function scheduled(message: NewMessage | undefined, index: number): NewMessage {
  if (message?.scheduledMs !== undefined) return message
  throw new InvalidOptionError(
    `messages[${index}].message must have the annotation x-opt-scheduled-enqueue-time, a timestamp`,
  )
}
