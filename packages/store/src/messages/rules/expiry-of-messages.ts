import type { EntityRecord } from '../entities.ts'
import { ACTIVE, type MessageRow } from '../message-rows.ts'
import { TTL_EXPIRED } from './dead-letter-reasons.ts'
import type { Fate } from './message-fate.ts'

/** A message has expired from `expiresMs` on, to the millisecond (EXP-19). */
export function hasExpired(row: MessageRow, atMs: number): boolean {
  return row.expiresMs !== undefined && row.expiresMs <= atMs
}

/** Only waiting messages expire: locked (EXP-05), deferred (EXP-21) and scheduled ones (SCH-07) stay out of it. */
export function isWaiting(row: MessageRow): boolean {
  return row.state === ACTIVE && row.lock === undefined
}

/** Dropped, or dead-lettered if the entity wants that (EXP-15). Never asked for a dead-letter queue (EXP-20). */
export function expire(row: MessageRow, { settings }: EntityRecord): Fate {
  return settings.deadLettersExpired
    ? { kind: 'dies', row, reason: TTL_EXPIRED }
    : { kind: 'goes', row }
}
