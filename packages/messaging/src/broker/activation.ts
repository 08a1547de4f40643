import type { EntityRecord } from '@tidemark/store/messages'
import { headOf } from '../messages/message-codec.ts'
import type { BringContext } from './bring-context.ts'
import { judgeArrival, judgePiece } from './fan-out.ts'
import { lookAt } from './look-at.ts'

/** Messages that one transaction activates. */
const PIECE = 100

/** Puts a topic's scheduled messages into its subscriptions when their instants have come (SCH-09). */
export async function activateScheduled(context: BringContext, topic: EntityRecord): Promise<void> {
  const look = (await lookAt(context, [topic])).get(topic.number)
  if ((look?.scheduledMs ?? Infinity) > context.storeNowMs()) return
  await context.runs.run(topic.number, () => activateDue(context, topic))
}

async function activateDue(context: BringContext, topic: EntityRecord): Promise<void> {
  for (let record = topic; ;) {
    const read = await context.perform<'readDue'>({
      kind: 'readDue',
      entity: record.number,
      touch: false,
      max: PIECE,
    })
    if (read.answer.kind === 'again') continue
    if (read.answer.kind === 'refused' || read.answer.messages.length === 0) return
    const judge = judgeArrival(context, record)
    const { answer } = await context.perform<'activate'>({
      kind: 'activate',
      entity: record.number,
      touch: false,
      version: record.version,
      messages: judgePiece(
        read.answer.messages,
        (message) => ({ number: message.number, copies: judge({ head: headOf(message) }) }),
        ({ copies }, { bytes }) => [{ copies, bytes }],
      ),
    })
    if (answer.kind === 'activated') context.forwardOnward(record)
    if (answer.kind !== 'refused') continue
    await context.directory.refresh()
    if (answer.reason !== 'stale') return
    const fresh = context.directory.destination(record.path)
    if (fresh?.number !== record.number) return
    record = fresh
  }
}
