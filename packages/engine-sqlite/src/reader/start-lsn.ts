import { rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { FeedStart } from '@tidemark/store/engine'
import type { RangeRow, SegmentRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'

/** The table whose rows are read, and the column to compare. */
export type StartTable =
  | { readonly table: 'doc'; readonly column: 'ts' }
  /** In ms. */
  | { readonly table: 'log'; readonly column: 'at' }

/** Rows that one piece reads. Between pieces, other work has its turn. */
const ROWS_A_PIECE = 5000
/** Rows of the first read, doubled each time: usually the first row is the right one. */
const FIRST_ROWS = 16

/**
 * The progress of a search that continues in later snapshots: before these row numbers, no row was written late enough.
 */
export class StartSearch {
  readonly #places = new Map<string, number>()
  rowsLeft: number = ROWS_A_PIECE

  place(segment: SegmentRow): number {
    return this.#places.get(placeKey(segment)) ?? 0
  }

  goOn(segment: SegmentRow, seq: number): void {
    this.#places.set(placeKey(segment), seq)
  }
}

/** Rows that are folded into a segment may take the numbers of rows that were rewritten. Its LSN rises then. */
function placeKey({ id, dense, lsn }: SegmentRow): string {
  return dense ? `${id}/${lsn}` : String(id)
}

/**
 * The LSN after which a reader of `wanted` begins. Undefined while it is unknown: call it again with the same search,
 * in another snapshot. The result is valid in the snapshot of that call.
 */
export function startLsn(
  connection: Connection,
  {
    range,
    wanted,
    start,
    newestLsn,
    rows,
    progress,
  }: {
    readonly range: RangeRow
    readonly wanted: FeedRange
    readonly start: FeedStart
    readonly newestLsn: number
    readonly rows: StartTable
    readonly progress: StartSearch
  },
): number | undefined {
  if (start.kind === 'beginning') return 0
  if (start.kind === 'now') return newestLsn
  const since = rows.table === 'doc' ? start.ts : start.ts * 1000
  progress.rowsLeft = ROWS_A_PIECE
  let position = newestLsn
  for (const segment of range.segments) {
    if (!rangesOverlap(segment, wanted)) continue
    const before = lsnBefore(connection, { segment, since, rows, wanted }, progress)
    if (before === 'unknown') return undefined
    // After a merge, the LSNs of both halves do not show which was first: the lower one includes all.
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
function lsnBefore(
  connection: Connection,
  search: Search,
  progress: StartSearch,
): number | undefined | 'unknown' {
  const { segment, since, rows, wanted } = search
  const { table, column } = rows
  const first = segment.id * SEGMENT_SLOTS
  const end = first + SEGMENT_SLOTS
  // Rows folded after a merge are in LSN order, which may differ from time order: rows of the other half would bring a
  // reader of one half back to its beginning.
  let from = Math.max(
    progress.place(segment),
    segment.dense ? first : firstSeqSince(connection, search),
  )
  for (let size = FIRST_ROWS; progress.rowsLeft > 0; size *= 2) {
    const limit = Math.min(size, progress.rowsLeft)
    const looked =
      connection.get(
        `SELECT count(*), coalesce(max(seq), 0), coalesce(min(iif(wanted, seq, NULL)), 0)
         FROM (SELECT seq, ${column} >= ? AND epk >= ? AND epk < ? AS wanted FROM ${table}
               WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ? + 0)`,
        since,
        wanted.minInclusive,
        wanted.maxExclusive,
        from,
        end,
        limit,
      ) ?? []
    const count = numberColumn(looked, 0)
    const last = numberColumn(looked, 1)
    const found = numberColumn(looked, 2)
    progress.rowsLeft -= count
    from = found > 0 ? found : Math.max(from, last + 1)
    progress.goOn(segment, from)
    // Of its transaction, it is the first remaining row: the others come after it.
    if (found > 0) return lsnOf(connection, search, found) - 1
    if (count < limit) return undefined
  }
  return 'unknown'
}

function lsnOf(connection: Connection, { segment, rows }: Search, seq: number): number {
  if (!segment.dense) return segment.base + seq - segment.id * SEGMENT_SLOTS
  return numberColumn(connection.get(`SELECT lsn FROM ${rows.table} WHERE seq = ?`, seq) ?? [], 0)
}

/** Row number of that row, by binary search: time never decreases within a segment. */
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
