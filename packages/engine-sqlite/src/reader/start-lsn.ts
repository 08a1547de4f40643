import { rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { FeedStart } from '@tidemark/store'
import type { RangeRow, SegmentRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'

/** Which table's rows are looked at, and by which of their columns. */
export type StartTable =
  | { readonly table: 'doc'; readonly column: 'ts' }
  /** In ms. */
  | { readonly table: 'log'; readonly column: 'at' }

/** The LSN after which a reader of `wanted` begins. */
export function startLsn(
  connection: Connection,
  {
    range,
    wanted,
    start,
    newestLsn,
    rows,
  }: {
    readonly range: RangeRow
    readonly wanted: FeedRange
    readonly start: FeedStart
    readonly newestLsn: number
    readonly rows: StartTable
  },
): number {
  if (start.kind === 'beginning') return 0
  if (start.kind === 'now') return newestLsn
  const since = rows.table === 'doc' ? start.ts : start.ts * 1000
  let position = newestLsn
  for (const segment of range.segments) {
    if (!rangesOverlap(segment, wanted)) continue
    const before = lsnBefore(connection, { segment, since, rows, wanted })
    // After a merge the LSNs of both halves say nothing about which was first: the lower one has all.
    if (before !== undefined) position = Math.min(position, before)
  }
  return position
}

interface Search {
  readonly segment: SegmentRow
  readonly since: number
  readonly rows: StartTable
  readonly wanted: FeedRange
}

/** The LSN right before the first row that was written at `since` or later; undefined if there is none. */
function lsnBefore(connection: Connection, search: Search): number | undefined {
  const { segment, since, rows, wanted } = search
  const { table, column } = rows
  const first = segment.id * SEGMENT_SLOTS
  const end = first + SEGMENT_SLOTS
  // Rows folded after a merge stand in LSN order, which need not be that of time: the other half's would
  // bring a reader of one half back to where it began.
  const from = segment.dense ? first : firstSeqSince(connection, search)
  const row = connection.get(
    `SELECT seq, lsn FROM ${table}
     WHERE seq >= ? AND seq < ? AND ${column} >= ? AND epk >= ? AND epk < ? ORDER BY seq LIMIT 1`,
    from,
    end,
    since,
    wanted.minInclusive,
    wanted.maxExclusive,
  )
  if (row === undefined) return undefined
  // Of its transaction it is the first that is left: the others come after it.
  return segment.dense ? numberColumn(row, 1) - 1 : segment.base + numberColumn(row, 0) - first - 1
}

/** Row number of that row, by halving: time never falls within a segment. */
function firstSeqSince(connection: Connection, { segment, since, rows }: Search): number {
  const { table, column } = rows
  const first = segment.id * SEGMENT_SLOTS
  const end = first + SEGMENT_SLOTS
  const newest = connection.get(
    `SELECT seq FROM ${table} WHERE seq >= ? AND seq < ? ORDER BY seq DESC LIMIT 1`,
    first,
    end,
  )
  let low = first
  let high = newest === undefined ? first : numberColumn(newest, 0) + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = connection.get(
      `SELECT seq, ${column} FROM ${table} WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT 1`,
      middle,
      end,
    )
    if (row === undefined || numberColumn(row, 1) >= since) high = middle
    else low = numberColumn(row, 0) + 1
  }
  return low
}
