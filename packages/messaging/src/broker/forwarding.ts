import {
  MAX_FORWARD_HOPS,
  type CommandAnswers,
  type CommandOf,
  type EntityRecord,
  type StoredMessage,
} from '@tidemark/store/messages'
import { readableHead } from '../messages/message-codec.ts'
import type { BringContext } from './bring-context.ts'
import { judgeArrival, judgePiece } from './fan-out.ts'
import { moveWithPoison } from './poison.ts'
import { noteStuck, stuckThrough } from './stuck-letters.ts'

/** Messages that one transaction moves. */
const PIECE = 100

/** Changes of the destination that it follows in one run. Whoever looks next goes on. */
const MAX_CHANGES = 20

const TOO_MANY_HOPS = {
  reason: 'MaxTransferHopCountExceeded',
  description: `The message was forwarded more than ${MAX_FORWARD_HOPS} times.`,
}
const DAMAGED = {
  reason: 'MessageDamaged',
  description: 'The properties of the message could not be read.',
}
const NO_DESTINATION = {
  reason: 'MessagingEntityNotFound',
  description: 'The destination of the forwarding could not be found.',
}

/**
 * Moves everything that waits in an entity or dead-letter queue to where it forwards (SET-13, SET-14). Resolves when what
 * was there at the call has gone, or cannot go.
 */
export async function forwardFrom(context: BringContext, source: EntityRecord): Promise<void> {
  await context.runs.run(source.number, () => forwardAll(context, source))
}

async function forwardAll(context: BringContext, source: EntityRecord): Promise<void> {
  for (let changes = 0; changes <= MAX_CHANGES;) {
    const path = context.directory.destinationPathOf(source)
    if (path === undefined) return
    const destination = context.directory.destination(path)
    // Dead letters that can go nowhere stay where they are.
    if (destination === undefined && source.kind === 'deadLetter') return
    const read = await context.perform<'readForwardable'>({
      kind: 'readForwardable',
      entity: source.number,
      touch: false,
      afterNumber: stuckThrough(context, source, destination),
      max: PIECE,
    })
    if (read.answer.kind === 'again') continue
    if (read.answer.kind === 'refused' || read.answer.messages.length === 0) return
    const orders = await ordersFor(context, { source, destination, messages: read.answer.messages })
    const answer = await forwardOrders(context, { source, destination, orders })
    if (answer.kind === 'destinationChanged') {
      changes += 1
      await context.directory.refresh()
    } else if (answer.kind === 'refused') {
      await context.directory.refresh()
      return
    } else if (answer.kind === 'forwarded') {
      if (destination !== undefined) context.forwardOnward(destination)
      if (source.kind !== 'deadLetter') context.forwardDeadLettersOf(source)
      if (answer.stuck > 0)
        context.reportStuck({
          entityPath: ownerPath(source),
          destination: path,
          count: answer.stuck,
        })
      if (answer.left > 0) return
      if (answer.stuck > 0)
        noteStuck(context, { source, destination, through: orders.at(-1)?.number })
    }
  }
}

interface ForwardPiece {
  readonly source: EntityRecord
  readonly destination: EntityRecord | undefined
  readonly orders: CommandOf<'forward'>['messages']
}

function forwardOrders(
  context: BringContext,
  { source, destination, orders }: ForwardPiece,
): Promise<CommandAnswers['forward']> {
  return moveWithPoison<(typeof orders)[number], CommandAnswers['forward']>(orders, {
    async move(messages) {
      const { answer } = await context.perform<'forward'>({
        kind: 'forward',
        entity: source.number,
        touch: false,
        destination: destination && { entity: destination.number, version: destination.version },
        messages,
      })
      return answer
    },
    isMoved: ({ kind }) => kind === 'forwarded',
    join: (one, other) =>
      one.kind === 'forwarded' && other.kind === 'forwarded'
        ? { ...one, left: one.left + other.left, stuck: one.stuck + other.stuck }
        : other,
    buried: (order, deadLetter) => ({ ...order, copies: [], deadLetter }),
  })
}

function ordersFor(
  context: BringContext,
  {
    source,
    destination,
    messages,
  }: {
    readonly source: EntityRecord
    readonly destination: EntityRecord | undefined
    readonly messages: readonly StoredMessage[]
  },
): Promise<CommandOf<'forward'>['messages']> {
  // One that has died of too many goes one further.
  const maxHops = source.kind === 'deadLetter' ? MAX_FORWARD_HOPS + 1 : MAX_FORWARD_HOPS
  const judge = destination === undefined ? undefined : judgeArrival(context, destination)
  const orderFor = async (
    message: StoredMessage,
  ): Promise<CommandOf<'forward'>['messages'][number]> => {
    const head = readableHead(message)
    const order = {
      number: message.number,
      messageId: head?.messageId ?? String(message.id),
      session: head?.sessionId,
    }
    if (head === undefined) return { ...order, copies: [], deadLetter: DAMAGED }
    if (message.hops >= maxHops) return { ...order, copies: [], deadLetter: TOO_MANY_HOPS }
    if (judge === undefined) return { ...order, copies: [], deadLetter: NO_DESTINATION }
    return { ...order, copies: await judge({ head, bytes: message.bytes }), deadLetter: undefined }
  }
  return judgePiece(messages, orderFor, ({ copies }, { bytes }) => [{ copies, bytes }])
}

function ownerPath({ path }: EntityRecord): string {
  return path.slice(0, path.lastIndexOf('/'))
}
