import type { EntityRecord } from '../entities.ts'
import type {
  CommandAnswers,
  CommandOf,
  NewMessage,
  Parcel,
  ParcelAnswer,
} from '../message-commands.ts'
import {
  ACTIVE,
  ask,
  type EntityPlace,
  type NewMessageRow,
  type Procedure,
} from '../message-rows.ts'
import { deadLettered, isScheduled, sentRow } from '../rules/enqueued-rows.ts'
import { refusesSend } from '../rules/entity-status.ts'
import { applyDue } from './apply-due.ts'
import { arrivingBytes, CopyBudget } from '../rules/copy-budget.ts'
import { claimFreshIds } from './claim-fresh-ids.ts'
import { copiesOf, holdSubscriptions } from './fan-out.ts'
import type { Work } from './work.ts'

/**
 * Enqueues the messages of each parcel, or none of it. Numbers are given in the order of the command, also to scheduled
 * messages, and only to what is stored: no refused parcel and no duplicate takes one (SET-18, SET-10).
 */
export function* sendMessages(
  work: Work,
  place: EntityPlace,
  command: CommandOf<'send'>,
): Procedure<CommandAnswers['send']> {
  const { record } = place
  const reason = refusesSend(record)
  if (reason !== undefined) return { kind: 'refused', reason }
  if (record.version !== command.version) return { kind: 'refused', reason: 'stale' }
  if ((yield* applyDue(work, place, 'nobody')) === 'again') return { kind: 'again' }
  if (record.kind === 'topic') {
    const copies = command.parcels.flatMap(({ messages }) => messages.flatMap((m) => m.copies))
    if (!(yield* holdSubscriptions(work, record, copies)))
      return { kind: 'refused', reason: 'stale' }
  }
  const deadLetterQueue = yield* holdDeadLetterQueue(work, record, command.parcels)
  const refusals = yield* judgeParcels(work, place, command.parcels)
  const accepted = command.parcels.filter((_, at) => refusals[at] === undefined)
  const isFresh = yield* claimFreshIds(
    work,
    record,
    accepted.flatMap(({ messages }) => messages.map(({ messageId }) => messageId)),
  )
  const rows: NewMessageRow[] = []
  const parcels: ParcelAnswer[] = []
  for (const [at, { messages }] of command.parcels.entries()) {
    const refusal = refusals[at]
    const numbers: (number | undefined)[] = []
    for (const message of refusal === undefined ? messages : []) {
      const to = message.deadLetter === undefined ? record : (deadLetterQueue ?? record)
      const number = isFresh(message.messageId) ? numberOf(work, message, to) : undefined
      numbers.push(number)
      if (number !== undefined)
        rows.push(...(yield* enqueue(work, { entity: record, to, message, number })))
    }
    parcels.push(refusal ?? { kind: 'sent', numbers })
  }
  if (rows.length > 0) yield* ask('insert', rows)
  return { kind: 'sent', parcels }
}

/** Numbers that no other message gets. What is not used is left out. */
export function reserveNumbers(
  work: Work,
  { record }: EntityPlace,
  { count }: CommandOf<'reserve'>,
): CommandAnswers['reserve'] {
  const reason = refusesSend(record)
  if (reason !== undefined) return { kind: 'refused', reason }
  const numbers = Array.from({ length: count }, () => work.nextNumber(record.number))
  return { kind: 'reserved', first: numbers[0] ?? 0 }
}

/** The refusals, undefined for parcels that are accepted. Judged before ids are claimed, which a refused parcel must not do. */
function* judgeParcels(
  work: Work,
  { record }: EntityPlace,
  parcels: readonly Parcel[],
): Procedure<readonly (ParcelAnswer | undefined)[]> {
  const { requiresSession, maxBytes, maxMessageBytes } = record.settings
  let held = (yield* ask('readBytes', record.number)) + work.addedBytes(record.number)
  return parcels.map(({ messages }) => {
    if (requiresSession && messages.some(({ session }) => session === undefined)) {
      return { kind: 'needsSession' }
    }
    if (messages.some(({ bytes }) => bytes > maxMessageBytes)) return { kind: 'tooLarge' }
    if (!new CopyBudget().takes(messages)) return { kind: 'tooManyCopies' }
    const copied = messages.filter((message) => !isScheduled(message, work.time.storeMs))
    const bytes =
      messages.reduce((sum, message) => sum + message.bytes, 0) +
      copied.reduce((sum, message) => sum + arrivingBytes(message) - message.bytes, 0)
    if (bytes > 0 && held + bytes > maxBytes) return { kind: 'full' }
    held += bytes
    return undefined
  })
}

/** Undefined: no message is for it, or the entity has none. */
function* holdDeadLetterQueue(
  work: Work,
  { number }: EntityRecord,
  parcels: readonly Parcel[],
): Procedure<EntityRecord | undefined> {
  const isNeeded = parcels.some(({ messages }) => messages.some(({ deadLetter }) => deadLetter))
  const queue = isNeeded ? yield* work.deadLetterQueueOf(number) : undefined
  if (queue === undefined) return undefined
  yield* work.hold([queue])
  return work.held(queue)
}

function numberOf(work: Work, message: NewMessage, { number: entity }: EntityRecord): number {
  const isReserved = message.number !== undefined && isScheduled(message, work.time.storeMs)
  return isReserved ? message.number : work.nextNumber(entity)
}

/** Its row, or those of its copies. */
function* enqueue(
  work: Work,
  given: {
    readonly entity: EntityRecord
    /** The entity, or its dead-letter queue. */
    readonly to: EntityRecord
    readonly message: NewMessage
    readonly number: number
  },
): Procedure<readonly NewMessageRow[]> {
  const { entity, to, message, number } = given
  const { storeMs } = work.time
  const row = sentRow(message, entity, { number, storeMs })
  if (entity.kind === 'topic' && row.state === ACTIVE) {
    return yield* copiesOf(work, row, message.copies)
  }
  work.touches(to.number)
  const { deadLetter } = message
  const stored =
    deadLetter === undefined || to === entity
      ? row
      : deadLettered(row, deadLetter, { deadLetterQueue: to.number, number, storeMs })
  work.addBytes(to, stored.bytes)
  return [stored]
}
