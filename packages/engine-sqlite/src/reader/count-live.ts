import type { CollectionRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { liveRows } from '../connection/live-rows.ts'

const ALL = 'SELECT count(*) FROM doc WHERE coll = ? AND kind = 0'
const EXPIRED = `SELECT count(*) FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0 AND exp <= ?`

/** Number of documents that have not expired; by indexes alone, as long as that of expiry is exact. */
export function countLive(
  connection: Connection,
  collection: CollectionRow,
  nowSecond: number,
): number {
  const { number } = collection.record
  const { condition } = liveRows(collection, nowSecond)
  if (collection.reindex !== undefined && condition !== undefined) {
    const sql = `SELECT count(*) FROM doc WHERE coll = ? AND kind = 0 AND ${condition.sql}`
    return numberColumn(connection.get(sql, number, ...condition.values) ?? [], 0)
  }
  const all = numberColumn(connection.get(ALL, number) ?? [], 0)
  if (condition === undefined) return all
  return all - numberColumn(connection.get(EXPIRED, number, nowSecond) ?? [], 0)
}
