import type { EntityRecord } from '../entities.ts'
import type { CommandAnswers, CommandOf, DeadLetterReason } from '../message-commands.ts'
import {
  ask,
  type EntityPlace,
  type NewMessageRow,
  type Procedure,
  type StoredMessage,
} from '../message-rows.ts'
import {
  DESTINATION_DISABLED,
  DESTINATION_FULL,
  DESTINATION_TOO_SMALL,
  SESSION_ID_IS_NULL,
} from '../rules/dead-letter-reasons.ts'
import { effectiveTtlMs } from '../rules/effective-ttl.ts'
import { arrivedRow, type Passage } from '../rules/enqueued-rows.ts'
import { arrivingBytes } from '../rules/copy-budget.ts'
import { refusesSend } from '../rules/entity-status.ts'
import { hasExpired, isWaiting } from '../rules/expiry-of-messages.ts'
import type { Fate } from '../rules/message-fate.ts'
import { applyDue } from './apply-due.ts'
import { carryOut } from './carry-out.ts'
import { claimFreshIds } from './claim-fresh-ids.ts'
import { copiesOf, holdSubscriptions } from './fan-out.ts'
import type { Work } from './work.ts'

/** Bytes of messages that `readForwardable` gives at most. */
const MAX_BYTES = 4 * 1024 * 1024

/** A destination that refuses so may take the message later. */
const PASSING: ReadonlySet<DeadLetterReason> = new Set([DESTINATION_DISABLED, DESTINATION_FULL])

type Forwarded = CommandOf<'forward'>['messages'][number]

/** Waiting messages in the order of numbers. Forwarding listens (EXP-26), so what has expired leaves first. */
export function* readForwardable(
  work: Work,
  place: EntityPlace,
  { afterNumber, max }: CommandOf<'readForwardable'>,
): Procedure<CommandAnswers['readForwardable']> {
  const { record } = place
  if (record.kind === 'topic') return { kind: 'refused', reason: 'notAllowed' }
  if (record.settings.requiresSession) return { kind: 'refused', reason: 'otherSessionUse' }
  if ((yield* applyDue(work, place, 'everything')) === 'again') return { kind: 'again' }
  const messages = yield* ask('take', {
    entity: record.number,
    session: undefined,
    afterNumber,
    notExpiredAtMs: record.kind === 'deadLetter' ? undefined : work.time.storeMs,
    max,
    maxBytes: MAX_BYTES,
    deletes: false,
    locks: [],
    dueMs: undefined,
  })
  return { kind: 'messages', messages }
}

/**
 * Moves messages to their destination, each exactly once: one that is not waiting here any more is left out. There it gets
 * a number, and counts its effective TTL anew, cut to the ceiling (EXP-31). What cannot go there goes to the dead-letter
 * queue of this entity (SET-13); from a dead-letter queue it stays where it is.
 */
export function* forward(
  work: Work,
  place: EntityPlace,
  { destination, messages }: CommandOf<'forward'>,
): Procedure<CommandAnswers['forward']> {
  const { record } = place
  if (record.kind === 'topic') return { kind: 'refused', reason: 'notAllowed' }
  const orders = new Map(messages.map((message) => [message.number, message]))
  const rows = yield* ask('rowsByNumber', record.number, [...orders.keys()])
  const waiting = rows
    .filter(
      (row) => isWaiting(row) && (isDeadLetter(record) || !hasExpired(row, work.time.storeMs)),
    )
    .sort((a, b) => a.number - b.number)
  if (waiting.length === 0) return { kind: 'forwarded', left: 0, stuck: 0 }
  const target = destination && (yield* holdDestination(work, destination, messages))
  if (destination !== undefined && target === undefined) return { kind: 'destinationChanged' }
  const stored = yield* ask(
    'messagesById',
    waiting.map(({ id }) => id).sort((a, b) => a - b),
  )
  const moves = [...stored]
    .sort((a, b) => a.number - b.number)
    .flatMap((message) => {
      const order = orders.get(message.number)
      return order === undefined ? [] : [{ message, order }]
    })
  return { kind: 'forwarded', ...(yield* move(work, record, target, moves)) }
}

/** The destination with all counters that are needed there and here, or undefined if it is not what was judged. */
function* holdDestination(
  work: Work,
  { entity, version }: { readonly entity: number; readonly version: number },
  messages: readonly Forwarded[],
): Procedure<EntityRecord | undefined> {
  yield* work.hold([entity])
  const target = work.held(entity)
  if (target?.version !== version) return undefined
  const copies = messages.flatMap((message) => message.copies)
  const isThere = target.kind !== 'topic' || (yield* holdSubscriptions(work, target, copies))
  return isThere ? target : undefined
}

interface Move {
  readonly message: StoredMessage
  readonly order: Forwarded
}

/** How many stay, and why; see the answer. */
function* move(
  work: Work,
  source: EntityRecord,
  target: EntityRecord | undefined,
  moves: readonly Move[],
): Procedure<{ readonly left: number; readonly stuck: number }> {
  const refusal = yield* refusals(work, target, moves)
  const going = moves.filter((one) => refusal(one) === undefined)
  const isFresh =
    target === undefined || target.number === ownerOf(source)
      ? () => true // Nothing is a duplicate of itself.
      : yield* claimFreshIds(
          work,
          target,
          going.map(({ order }) => order.messageId),
        )
  const fates: Fate[] = []
  const inserted: NewMessageRow[] = []
  let left = 0
  let stuck = 0
  for (const one of moves) {
    const reason = refusal(one)
    if (reason === undefined && target !== undefined) {
      fates.push({ kind: 'goes', row: one.message })
      if (isFresh(one.order.messageId)) inserted.push(...(yield* arrive(work, source, target, one)))
    } else if (reason === undefined) left += 1
    else if (isDeadLetter(source)) {
      if (PASSING.has(reason)) left += 1
      else stuck += 1
    } else fates.push({ kind: 'dies', row: one.message, reason, onItsWay: true })
  }
  yield* carryOut(work, source, fates)
  if (inserted.length > 0) yield* ask('insert', inserted)
  return { left, stuck }
}

/** Why a message cannot go to the destination: judged for each once, before ids are claimed. */
function* refusals(
  work: Work,
  target: EntityRecord | undefined,
  moves: readonly Move[],
): Procedure<(one: Move) => DeadLetterReason | undefined> {
  const reasons = new Map<number, DeadLetterReason>()
  let held =
    target === undefined
      ? 0
      : (yield* ask('readBytes', target.number)) + work.addedBytes(target.number)
  for (const { message, order } of moves) {
    const added = arrivingBytes({ bytes: message.bytes, copies: order.copies })
    const reason = order.deadLetter ?? refusedBy(target, { message, order }, held + added)
    if (reason === undefined) held += added
    else reasons.set(message.id, reason)
  }
  return ({ message }) => reasons.get(message.id)
}

function refusedBy(
  target: EntityRecord | undefined,
  { message, order: { session } }: Move,
  heldBytes: number,
): DeadLetterReason | undefined {
  if (target === undefined) return undefined
  if (refusesSend(target) !== undefined) return DESTINATION_DISABLED
  if (target.settings.requiresSession && session === undefined) return SESSION_ID_IS_NULL
  if (message.bytes > target.settings.maxMessageBytes) return DESTINATION_TOO_SMALL
  return heldBytes > target.settings.maxBytes ? DESTINATION_FULL : undefined
}

/** Its rows at the destination. */
function* arrive(
  work: Work,
  source: EntityRecord,
  target: EntityRecord,
  { message, order }: Move,
): Procedure<readonly NewMessageRow[]> {
  const number = work.nextNumber(target.number)
  const passage: Passage = {
    ...message,
    enqueuedMs: work.time.storeMs,
    ttlMs: effectiveTtlMs(message.ttlMs, target.settings.defaultTtlMs),
    hops: message.hops + 1,
    deadLetterSource: isDeadLetter(source) ? ownerPath(source) : message.deadLetterSource,
  }
  if (target.kind === 'topic') return yield* copiesOf(work, passage, order.copies)
  work.addBytes(target, message.bytes)
  work.touches(target.number)
  return [arrivedRow(passage, target, { number, session: order.session })]
}

function isDeadLetter({ kind }: EntityRecord): boolean {
  return kind === 'deadLetter'
}

/** Where it is, or died. */
function ownerOf(source: EntityRecord): number | undefined {
  return isDeadLetter(source) ? source.parent : source.number
}

function ownerPath({ path }: EntityRecord): string {
  return path.slice(0, path.lastIndexOf('/'))
}
