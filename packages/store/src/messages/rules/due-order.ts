import type { EntityRecord } from '../entities.ts'
import { SCHEDULED, type MessageRow } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'
import { activated } from './enqueued-rows.ts'
import { expire, hasExpired, isWaiting } from './expiry-of-messages.ts'
import { returned, storeMsAtLockEnd } from './lock-rules.ts'
import type { Fate } from './message-fate.ts'

interface DueEvent {
  /** `dueMs` or `expiresMs`. */
  readonly atMs: number
  readonly row: MessageRow
  readonly kind: 'lockEnd' | 'activation' | 'expiry'
}

export interface DuePlan {
  /** In the order of (instant, number). A message may have two: it is activated, then it expires. */
  readonly fates: readonly Fate[]
  /** More is due than `max`. */
  readonly isPiece: boolean
}

/**
 * What happens to messages outside of sessions whose instant has come, in the order of (instant, number): so that numbers
 * in the entity and in its dead-letter queue do not depend on who applies it, or when. Gets the first `max` of both kinds
 * and decides the first `max` of all. What becomes waiting and has expired since expires, too, if somebody listens.
 */
export function planDue(
  entity: EntityRecord,
  time: MessageTime,
  given: {
    readonly due: readonly MessageRow[]
    /** Waiting messages that have expired; empty when nobody listens. */
    readonly expired: readonly MessageRow[]
    readonly listens: boolean
    readonly max: number
  },
): DuePlan {
  const all = [...given.due.map(dueEvent), ...given.expired.map(expiryEvent)].sort(inOrder)
  const isPiece = all.length >= given.max
  const events = all.slice(0, given.max)
  const last = isPiece ? events.at(-1) : undefined
  const fates: Fate[] = []
  for (let at = 0; at < events.length; at += 1) {
    const event = events[at]
    if (event === undefined) break
    const fate = fateOf(event, entity, time)
    fates.push(fate)
    if (fate.kind !== 'stays' && fate.kind !== 'activates') continue
    const next = expiryEvent(fate.row)
    // What lies behind the last event of a piece comes with the next piece, where it is found among the expired.
    if (given.listens && expiresNow(fate.row, time) && !(last && inOrder(last, next) < 0)) {
      insert(events, next, at + 1)
    }
  }
  return { fates, isPiece }
}

function fateOf({ kind, row, atMs }: DueEvent, entity: EntityRecord, time: MessageTime): Fate {
  if (kind === 'activation') return { kind: 'activates', row: activated(row, entity) }
  if (kind === 'expiry') return expire(row, entity)
  return returned(row, entity, { storeMs: storeMsAtLockEnd(atMs, time), counts: 'delivery' })
}

function expiresNow(row: MessageRow, { storeMs }: MessageTime): boolean {
  return isWaiting(row) && hasExpired(row, storeMs)
}

function dueEvent(row: MessageRow): DueEvent {
  return { atMs: row.dueMs ?? 0, row, kind: row.state === SCHEDULED ? 'activation' : 'lockEnd' }
}

function expiryEvent(row: MessageRow): DueEvent {
  return { atMs: row.expiresMs ?? 0, row, kind: 'expiry' }
}

function inOrder(a: DueEvent, b: DueEvent): number {
  return a.atMs - b.atMs || a.row.number - b.row.number
}

/** Behind those that come before it, not before `from`: what has happened does not happen again. */
function insert(events: DueEvent[], event: DueEvent, from: number): void {
  let at = from
  for (; at < events.length; at += 1) {
    const other = events[at]
    if (other !== undefined && inOrder(event, other) < 0) break
  }
  events.splice(at, 0, event)
}
