import type { CollectionRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { liveRows, type Condition } from '../connection/live-rows.ts'

const FIRST_EXPIRED = `SELECT 1 FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0 AND exp <= ? LIMIT 1`

/**
 * The condition for live documents in this snapshot. Undefined where none has expired, which the index of expiry shows
 * while it is exact. That is the usual case, because the sweep removes expired documents soon.
 */
export function unexpired(
  connection: Connection,
  collection: CollectionRow,
  nowSecond: number,
): Condition | undefined {
  const { condition } = liveRows(collection, nowSecond)
  if (condition === undefined || collection.reindex !== undefined) return condition
  const first = connection.get(FIRST_EXPIRED, collection.record.number, nowSecond)
  return first === undefined ? undefined : condition
}
