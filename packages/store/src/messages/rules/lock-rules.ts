import type { EntityRecord } from '../entities.ts'
import { DEFERRED, type MessageRow, type SessionRow } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'
import { maxDeliveryCountExceeded } from './dead-letter-reasons.ts'
import { expire, hasExpired } from './expiry-of-messages.ts'
import type { Fate } from './message-fate.ts'

/** A hold lasts until before `lockedUntilMs`: at this instant it has ended. */
export function isHeld(session: SessionRow, lockMs: number): boolean {
  return session.lock !== undefined && session.lockedUntilMs > lockMs
}

/** Whether this lock is the session's hold now. */
export function holdsSession(session: SessionRow, lock: string, lockMs: number): boolean {
  return session.lock === lock && session.lockedUntilMs > lockMs
}

/** Whether a message outside of sessions is under this lock now (SET-06, SET-16): whoever asks, only the lock counts. */
export function holdsMessage(row: MessageRow, lock: string, lockMs: number): boolean {
  return row.lock === lock && row.dueMs !== undefined && row.dueMs > lockMs
}

/** When a lock that is taken or renewed now ends (SET-01, SET-07). */
export function lockEndMs({ settings }: EntityRecord, { lockMs }: MessageTime): number {
  return lockMs + settings.lockDurationMs
}

/** Without its lock. */
export function unlocked(row: MessageRow): MessageRow {
  return { ...row, lock: undefined, dueMs: undefined }
}

/**
 * The lock of a message ends by abandon, by its time or with its session's, at an instant of the store's clock.
 *
 * - The delivery counts as unsuccessful (SET-02, SET-06, SES-15), unless the message is only given back (SES-11).
 * - If it has expired at this instant, it expires at once, without a listener (EXP-06, EXP-07). This wins over the number
 *   of deliveries. In an entity with sessions only the message itself goes: its session expires when somebody listens.
 * - After `maxDeliveryCount` deliveries it is dead-lettered, a deferred one too: it cannot be switched off (SET-03).
 * - A deferred message stays deferred and does not expire (SET-05, EXP-21).
 * - In a dead-letter queue it only comes back, and no delivery is counted (EXP-20).
 */
export function returned(
  row: MessageRow,
  entity: EntityRecord,
  at: { readonly storeMs: number; readonly counts: 'delivery' | 'nothing' },
): Fate {
  if (entity.kind === 'deadLetter') return { kind: 'stays', row: unlocked(row) }
  const deliveries = at.counts === 'delivery' ? row.deliveries + 1 : row.deliveries
  const back = { ...unlocked(row), deliveries }
  if (back.state !== DEFERRED && hasExpired(back, at.storeMs)) return expire(back, entity)
  if (at.counts === 'delivery' && deliveries >= entity.settings.maxDeliveryCount) {
    return { kind: 'dies', row: back, reason: maxDeliveryCountExceeded(deliveries) }
  }
  return { kind: 'stays', row: back }
}

/**
 * The store's time at an instant of the lock clock that has passed. So what the end of a lock brings does not depend on
 * when somebody applies it: a message that expires after the end of its lock waits for a listener (EXP-04).
 */
export function storeMsAtLockEnd(endedMs: number, { storeMs, lockMs }: MessageTime): number {
  return storeMs - Math.max(0, lockMs - endedMs)
}
