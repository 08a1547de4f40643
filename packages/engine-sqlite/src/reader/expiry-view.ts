import type { ExpiryView } from '@tidemark/store'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { readRangeHead } from './range-head.ts'

const WITHIN = `SELECT count(*) FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0 AND exp > ? AND exp <= ?`
const NEXT = `SELECT min(exp) FROM doc INDEXED BY expiry WHERE coll = ? AND kind = 0 AND exp > 0 AND exp > ?`
const PENDING = 'SELECT count(*) FROM doc INDEXED BY pending WHERE coll = ? AND kind = 1'
const NEVER = 2 ** 40

/** What expires when, by the index of expiry: counts entries, reads no documents. */
export function readExpiryView(
  connection: Connection,
  collection: CollectionRow,
  { nowMs, withinSeconds }: { readonly nowMs: number; readonly withinSeconds: readonly number[] },
): ExpiryView {
  const { number } = collection.record
  const now = Math.floor(nowMs / 1000)
  const count = (after: number, upTo: number): number =>
    numberColumn(connection.get(WITHIN, number, after, upTo) ?? [], 0)
  const next = connection.get(NEXT, number, now)?.[0]
  return {
    nowMs,
    expiring: withinSeconds.map((seconds) => count(now, now + seconds)),
    withExpiry: count(now, NEVER),
    unswept: count(0, now),
    pendingDeletes: numberColumn(connection.get(PENDING, number) ?? [], 0),
    nextExpiryMs: typeof next === 'number' ? next * 1000 : undefined,
    horizons: collection.ranges.flatMap((range) => readRangeHead(connection, range).horizons),
    isReindexing: collection.reindex !== undefined,
  }
}
