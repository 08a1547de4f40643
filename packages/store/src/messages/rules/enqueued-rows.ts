import type { EntityRecord } from '../entities.ts'
import type { MessageChanges, NewMessage } from '../message-commands.ts'
import { ACTIVE, SCHEDULED, type MessageRow, type NewMessageRow } from '../message-rows.ts'
import { effectiveTtlMs, expiryMs } from './effective-ttl.ts'
import { changedRow, reasonChanges } from './message-changes.ts'
import type { ReasonGiven } from './message-fate.ts'

/** Whether a message waits for its instant. One that has passed means now (SCH-06). */
export function isScheduled(message: NewMessage, storeMs: number): boolean {
  return message.scheduledMs !== undefined && message.scheduledMs > storeMs
}

/**
 * The row of a message that a queue gets, or of one that is scheduled to a topic. A scheduled message has its TTL cut to
 * the ceiling, has no expiry yet (SCH-07), and shows its instant as the time at which it is enqueued (SCH-01).
 */
export function sentRow(
  message: NewMessage,
  entity: EntityRecord,
  given: { readonly number: number; readonly storeMs: number },
): NewMessageRow {
  const scheduledMs = isScheduled(message, given.storeMs) ? message.scheduledMs : undefined
  const enqueuedMs = scheduledMs ?? given.storeMs
  const ttlMs = effectiveTtlMs(message.ttlMs, entity.settings.defaultTtlMs)
  return {
    entity: entity.number,
    number: given.number,
    state: scheduledMs === undefined ? ACTIVE : SCHEDULED,
    session: sessionIn(entity, message.session),
    enqueuedMs,
    ttlMs,
    expiresMs: scheduledMs === undefined ? expiryMs(enqueuedMs, ttlMs) : undefined,
    dueMs: scheduledMs,
    lock: undefined,
    deliveries: 0,
    firstNumber: given.number,
    hops: 0,
    deadLetterSource: undefined,
    changes: undefined,
    bytes: message.bytes,
    head: message.head,
    body: message.body,
  }
}

/**
 * A scheduled message is enqueued at its instant, as if it were sent then: the ceiling of now is applied, and its expiry
 * counts from there (SCH-02, SCH-08). The number is given when this is carried out.
 */
export function activated(row: MessageRow, { settings }: EntityRecord): MessageRow {
  const ttlMs = effectiveTtlMs(row.ttlMs, settings.defaultTtlMs)
  const enqueuedMs = row.dueMs ?? row.enqueuedMs
  return {
    ...row,
    state: ACTIVE,
    dueMs: undefined,
    enqueuedMs,
    ttlMs,
    expiresMs: expiryMs(enqueuedMs, ttlMs),
  }
}

/**
 * A message in the dead-letter queue. It keeps enqueued time, TTL and expiry (EXP-30), which nobody enforces there
 * (EXP-20), and its number of deliveries. A dead-letter queue has no sessions: only the properties keep the session's name.
 */
export function deadLettered<Row extends MessageRow | NewMessageRow>(
  row: Row,
  { reason, description }: ReasonGiven,
  at: { readonly deadLetterQueue: number; readonly number: number; readonly storeMs: number },
): Row {
  return {
    ...changedRow(row, reasonChanges(reason, description), { diedMs: at.storeMs }),
    entity: at.deadLetterQueue,
    number: at.number,
    state: ACTIVE,
    session: undefined,
    lock: undefined,
    dueMs: undefined,
  }
}

/** What a message brings along when it is put into a queue or subscription: from a topic, or by forwarding. */
export type Passage = Pick<
  NewMessageRow,
  | 'enqueuedMs'
  | 'ttlMs'
  | 'firstNumber'
  | 'hops'
  | 'deadLetterSource'
  | 'changes'
  | 'bytes'
  | 'head'
  | 'body'
>

/**
 * The row of a message that arrives by a topic or by forwarding. The TTL that it brings counts from its enqueue here, and
 * is cut to the ceilings of the topic and of the destination (EXP-13, EXP-14, EXP-31).
 */
export function arrivedRow(
  passage: Passage,
  entity: EntityRecord,
  given: {
    readonly number: number
    readonly session: string | undefined
    readonly changes?: MessageChanges | undefined
  },
): NewMessageRow {
  const ttlMs = effectiveTtlMs(passage.ttlMs, entity.settings.defaultTtlMs)
  const { changes, bytes } = changedRow(passage, given.changes)
  return {
    enqueuedMs: passage.enqueuedMs,
    firstNumber: passage.firstNumber,
    hops: passage.hops,
    deadLetterSource: passage.deadLetterSource,
    head: passage.head,
    body: passage.body,
    entity: entity.number,
    number: given.number,
    state: ACTIVE,
    session: sessionIn(entity, given.session),
    ttlMs,
    expiresMs: expiryMs(passage.enqueuedMs, ttlMs),
    dueMs: undefined,
    lock: undefined,
    deliveries: 0,
    changes,
    bytes,
  }
}

/** Only rows of entities with sessions name one. */
function sessionIn({ settings }: EntityRecord, session: string | undefined): string | undefined {
  return settings.requiresSession ? session : undefined
}
