import type { FeedRange } from '@tidemark/contracts'
import { planFold, sharedSegments } from '@tidemark/store/engine'
import type { CollectionRow, RangeRow, SegmentRow } from '../../connection/catalog-rows.ts'
import { numberColumn } from '../../connection/column.ts'
import type { Connection } from '../../connection/connection.ts'
import { raiseCatalogVersion } from '../../connection/head.ts'
import { SEGMENT_SLOTS } from '../../connection/schema.ts'
import { mergeRows, SegmentRows, type LsnRow } from '../../segments/segment-rows.ts'
import { stretches, type Stretch } from '../../segments/stretches.ts'
import { insertSegment } from '../range-writes.ts'
import { NOTHING_TO_DO, type PieceContext, type PieceResult } from './piece.ts'

type PlacedRow = readonly [lsn: number, seq: number]

/**
 * Moves the next rows, in LSN order, of the segments that a range inherited into one of its own. At any moment each row
 * is in exactly one of them, and pages read all of them, so the work can stop at any point. When all rows are moved,
 * the range drops the inherited segments. A segment that no range has any more is removed.
 */
export function foldSegments(
  { connection, maxItems }: PieceContext,
  collection: CollectionRow,
  rangeNumber: number,
): PieceResult {
  const range = collection.ranges.find(({ number }) => number === rangeNumber)
  const shared = sharedSegments(collection.ranges)
  const plan = range && planFold(range.segments, { shared, isFolded: ({ dense }) => dense })
  if (range === undefined || plan === undefined) return NOTHING_TO_DO
  const { sources } = plan
  const target = beginTarget(connection, collection, { range, ...plan })
  const next = stretches(sources, target.lsn).next()
  let items = 0
  if (next.done !== true) {
    const moved = movedRows(connection, range, { stretch: next.value, limit: maxItems })
    items = append(connection, 'doc', target.id, moved.documents)
    append(connection, 'log', target.id, moved.entries)
    connection.run('UPDATE segment SET lsn = ? WHERE id = ?', moved.throughLsn, target.id)
    target.lsn = moved.throughLsn
  }
  const more = sources.some(({ lsn }) => lsn > target.lsn)
  if (!more) endFold(connection, collection.record.number, { range, target, sources })
  raiseCatalogVersion(connection)
  return { items, more }
}

function beginTarget(
  connection: Connection,
  collection: CollectionRow,
  {
    range,
    target,
    sources,
  }: {
    readonly range: RangeRow
    readonly target: SegmentRow | undefined
    readonly sources: readonly SegmentRow[]
  },
): { readonly id: number; lsn: number } {
  const { minInclusive, maxExclusive } = range
  if (target !== undefined) {
    // It may be from before a merge, and then the range has more keys than it was made for.
    connection.run(
      `UPDATE segment SET state = 'folding', min = min(min, ?), max = max(max, ?) WHERE id = ?`,
      minInclusive,
      maxExclusive,
      target.id,
    )
    return { id: target.id, lsn: target.lsn }
  }
  const { number } = collection.record
  const base = Math.min(...sources.map((source) => source.base))
  const keys: FeedRange = { minInclusive, maxExclusive }
  const segment = { collection: number, range: keys, base, epoch: 0, state: 'folding' } as const
  const id = insertSegment(connection, segment)
  connection.run('INSERT INTO pkrange_segment VALUES (?, ?, ?)', number, range.number, id)
  return { id, lsn: base }
}

/** The next documents and entries of the log, both up to the same LSN. */
function movedRows(
  connection: Connection,
  range: RangeRow,
  { stretch, limit }: { readonly stretch: Stretch<SegmentRow>; readonly limit: number },
): {
  readonly documents: readonly PlacedRow[]
  readonly entries: readonly PlacedRow[]
  readonly throughLsn: number
} {
  const { minInclusive, maxExclusive } = range
  const read = (
    table: 'doc' | 'log',
    untilLsn: number,
  ): { readonly rows: readonly PlacedRow[]; readonly throughLsn: number } => {
    const rows = new SegmentRows<PlacedRow>(
      connection,
      {
        table,
        columns: ['seq'],
        range: { minInclusive, maxExclusive },
        condition: undefined,
      },
      'any',
    )
    const wanted = { afterLsn: stretch.afterLsn, untilLsn, limit }
    const parts = stretch.segments.map((segment) => rows.read(segment, wanted))
    const throughLsn = Math.min(untilLsn, ...parts.map((part) => part.throughLsn))
    return { rows: upTo(throughLsn, mergeRows(parts.map((part) => part.rows))), throughLsn }
  }
  const documents = read('doc', stretch.untilLsn)
  const entries = read('log', documents.throughLsn)
  const { throughLsn } = entries
  return { documents: upTo(throughLsn, documents.rows), entries: entries.rows, throughLsn }
}

/** Appends rows to a segment in their order. Returns their number. */
function append(
  connection: Connection,
  table: 'doc' | 'log',
  segment: number,
  rows: readonly PlacedRow[],
): number {
  const first = segment * SEGMENT_SLOTS
  const newest = connection.get(
    `SELECT coalesce(max(seq), ?) FROM ${table} WHERE seq >= ? AND seq < ?`,
    first,
    first,
    first + SEGMENT_SLOTS,
  )
  let seq = numberColumn(newest ?? [], 0)
  for (const [, from] of rows) {
    seq++
    connection.run(`UPDATE ${table} SET seq = ? WHERE seq = ?`, seq, from)
  }
  return rows.length
}

function endFold(
  connection: Connection,
  collection: number,
  {
    range,
    target,
    sources,
  }: {
    readonly range: RangeRow
    readonly target: { readonly id: number }
    readonly sources: readonly SegmentRow[]
  },
): void {
  connection.run(`UPDATE segment SET state = 'sealed' WHERE id = ?`, target.id)
  for (const { id } of sources) {
    connection.run(
      'DELETE FROM pkrange_segment WHERE coll = ? AND pkrange = ? AND segment = ?',
      collection,
      range.number,
      id,
    )
    connection.run(
      `UPDATE segment SET state = 'dropped'
       WHERE id = ? AND NOT EXISTS (SELECT 1 FROM pkrange_segment p WHERE p.segment = segment.id)`,
      id,
    )
  }
}

function upTo<Row extends LsnRow>(lsn: number, rows: readonly Row[]): readonly Row[] {
  return rows.filter((row) => row[0] <= lsn)
}
