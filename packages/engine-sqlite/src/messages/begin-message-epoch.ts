import type { Connection } from '../connection/connection.ts'
import { hasMessageTables } from './message-tables.ts'

/** More than a crash can lose of the numbers that were given but are not yet durable. */
const NUMBERS_SKIPPED: number = 2 ** 20
const ENTITIES_SKIPPED = 1000
/** Ids stay below 2^48: at this pace they last until the year 2106. */
const IDS_PER_SECOND: number = 2 ** 16

/** After commits were lost: no number is given a second time. Within a transaction. */
export function skipMessageNumbers(connection: Connection): void {
  if (!hasMessageTables(connection)) return
  connection.run(`UPDATE entity SET next = next + ${NUMBERS_SKIPPED}`)
  connection.run(
    `UPDATE broker SET entity = entity + ${ENTITIES_SKIPPED}, message = message + ${NUMBERS_SKIPPED}`,
  )
}

/**
 * In a copy it is unknown which numbers the original gave later, so all of them continue where the time is: see the epoch
 * of a copy's ranges. Locks end at once, as if their time had passed: their holders use the original.
 */
export function beginEpochOfMessages(connection: Connection, nowMs: number): void {
  if (!hasMessageTables(connection)) return
  skipMessageNumbers(connection)
  connection.run('UPDATE entity SET next = max(next, ?)', Math.floor(nowMs * 1000))
  const ids = Math.floor(nowMs / 1000) * IDS_PER_SECOND
  connection.run('UPDATE broker SET message = max(message, ?)', ids)
  connection.run('UPDATE message SET due = 0 WHERE lock IS NOT NULL AND due IS NOT NULL')
  connection.run('UPDATE session SET until = 0 WHERE lock IS NOT NULL')
}
