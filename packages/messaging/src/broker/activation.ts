import type { CommandAnswers, CommandOf, EntityRecord } from '@tidemark/store/messages'
import { readableHead } from '../messages/message-codec.ts'
import type { BringContext } from './bring-context.ts'
import { judgeArrival, judgePiece } from './fan-out.ts'
import { lookAt } from './look-at.ts'
import { moveWithPoison } from './poison.ts'

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
    const due = read.answer.messages.flatMap((message) => {
      const head = readableHead(message)
      return head === undefined ? [] : [{ ...message, head }]
    })
    // What is damaged stays where it is.
    if (due.length === 0) return
    const orders = await judgePiece(
      due,
      async ({ number, head, bytes }) => ({ number, copies: await judge({ head, bytes }) }),
      ({ copies }, { bytes }) => [{ copies, bytes }],
    )
    const answer = await activateOrders(context, record, orders)
    if (answer.kind === 'activated') context.forwardOnward(record)
    if (answer.kind !== 'refused') continue
    await context.directory.refresh()
    if (answer.reason !== 'stale') return
    const fresh = context.directory.destination(record.path)
    if (fresh?.number !== record.number) return
    record = fresh
  }
}

function activateOrders(
  context: BringContext,
  { number: entity, version }: EntityRecord,
  orders: CommandOf<'activate'>['messages'],
): Promise<CommandAnswers['activate']> {
  return moveWithPoison<(typeof orders)[number], CommandAnswers['activate']>(orders, {
    async move(messages) {
      const command = { kind: 'activate', entity, touch: false, version, messages } as const
      return (await context.perform<'activate'>(command)).answer
    },
    isMoved: ({ kind }) => kind === 'activated',
    join: (one) => one,
    // A topic has no dead-letter queue: those of its subscriptions get the copies.
    buried: ({ number, copies }, deadLetter) => ({
      number,
      copies: copies.map((copy) => ({ ...copy, session: undefined, deadLetter })),
    }),
  })
}
