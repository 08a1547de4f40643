import { FULL_RANGE } from '@tidemark/contracts'
import type { CollectionRow, SegmentRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { raiseCatalogVersion } from '../connection/head.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'
import { NOTHING_TO_DO, type PieceContext, type PieceResult } from './piece.ts'
import { raiseHorizons, type PurgedPart } from './raise-horizons.ts'

const OLDEST = 'SELECT seq, lsn, at FROM log WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?'
/** A transaction is never trimmed in part, and has at most a hundred entries or so. */
const MIN_ITEMS = 1000

/** Removes entries whose retention is over; all of them after the log was switched off (CF-11). */
export function trimVersions(context: PieceContext, collection: CollectionRow): PieceResult {
  if (!collection.logged) return NOTHING_TO_DO
  const { connection, timeMs } = context
  const keepsFromMs = versionsKeptFromMs(collection, timeMs)
  const limit = Math.max(MIN_ITEMS, context.maxItems)
  const purged: PurgedPart[] = []
  let items = 0
  for (const segment of segmentsOf(collection)) {
    const rows = dueEntries(connection, segment, { keepsFromMs, limit: limit - items })
    const last = rows.at(-1)
    if (last === undefined) continue
    connection.run(
      'DELETE FROM log WHERE seq >= ? AND seq <= ?',
      segment.id * SEGMENT_SLOTS,
      last.seq,
    )
    items += rows.length
    purged.push({ segment: segment.id, keys: FULL_RANGE, lsn: last.lsn })
    if (items >= limit - MIN_ITEMS / 2 || context.isOverdue()) break
  }
  raiseHorizons(connection, collection, { column: 'loghorizon', purged, timeMs })
  if (items === 0 && collection.record.definition.allVersions === null) {
    const { number } = collection.record
    connection.run('UPDATE collection SET logged = 0 WHERE number = ?', number)
    raiseCatalogVersion(connection)
  }
  return { items, more: items > 0 }
}

/** Commit time from which on entries are kept, epoch ms. */
export function versionsKeptFromMs({ record }: CollectionRow, timeMs: number): number {
  const { allVersions } = record.definition
  return allVersions === null ? Infinity : timeMs - allVersions.retentionSeconds * 1000
}

/** Commit time of the oldest entry of each of some segments that have one, epoch ms. */
export function oldestEntriesMs(
  connection: Connection,
  collection: CollectionRow,
  { from, count }: { readonly from: number; readonly count: number },
): readonly number[] {
  const segments = segmentsOf(collection)
  const first = segments.length <= count ? 0 : from % segments.length
  return segments.slice(first, first + count).flatMap(({ id }) => {
    const row = connection.get(OLDEST, id * SEGMENT_SLOTS, (id + 1) * SEGMENT_SLOTS, 1)
    return row === undefined ? [] : [numberColumn(row, 2)]
  })
}

function dueEntries(
  connection: Connection,
  { id }: SegmentRow,
  { keepsFromMs, limit }: { readonly keepsFromMs: number; readonly limit: number },
): readonly { readonly seq: number; readonly lsn: number }[] {
  const rows = connection
    .all(OLDEST, id * SEGMENT_SLOTS, (id + 1) * SEGMENT_SLOTS, limit)
    .map((row) => ({
      seq: numberColumn(row, 0),
      lsn: numberColumn(row, 1),
      at: numberColumn(row, 2),
    }))
  const kept = rows.findIndex(({ at }) => at > keepsFromMs)
  if (kept !== -1) return rows.slice(0, kept)
  const cutLsn = rows.length >= limit ? rows.at(-1)?.lsn : undefined
  const whole = rows.filter(({ lsn }) => lsn !== cutLsn)
  return whole.length > 0 ? whole : rows
}

function segmentsOf({ ranges }: CollectionRow): readonly SegmentRow[] {
  const segments = ranges.flatMap((range) => range.segments)
  return [...new Map(segments.map((segment) => [segment.id, segment])).values()]
}
