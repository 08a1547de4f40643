import { rangeContainsEpk } from '@tidemark/contracts'
import type { AgingKind, AgingTimes } from '@tidemark/store/engine'
import type { RangeRow } from '../../connection/catalog-rows.ts'
import { numberColumn, textColumn, type Row } from '../../connection/column.ts'
import type { Connection } from '../../connection/connection.ts'
import { SEGMENT_SLOTS } from '../../connection/schema.ts'

export interface AgingRow extends AgingTimes {
  readonly seq: number
}

const STATEMENTS: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: `SELECT seq, lsn, ts, epk FROM doc INDEXED BY pending
    WHERE coll = ? AND kind = 1 AND seq >= ? AND seq < ? ORDER BY seq LIMIT ? + 0`,
  versions: `SELECT seq, lsn, at, epk FROM log
    WHERE ? IS NOT NULL AND seq >= ? AND seq < ? ORDER BY seq LIMIT ? + 0`,
}

/**
 * The first rows of a range in LSN order, over all its segments: whole LSNs only, and none above the first that was not
 * read. They are removed in this order, so that one LSN marks what is gone. Within a single segment it would not: after
 * a merge, rows of the other half may come in between.
 *
 * Rows of a segment's other ranges are read too. If there are many of them, fewer or no rows are found here, until
 * those are removed or the segment is folded.
 */
export function oldestRows(
  connection: Connection,
  range: RangeRow,
  {
    kind,
    collection,
    limit,
  }: { readonly kind: AgingKind; readonly collection: number; readonly limit: number },
): readonly AgingRow[] {
  const found: AgingRow[] = []
  let endLsn = Infinity
  for (const { id } of range.segments) {
    const { rows, isCut } = firstLsns(connection, id, { kind, collection, limit })
    if (isCut) endLsn = Math.min(endLsn, rows.at(-1)?.lsn ?? Infinity)
    for (const row of rows) if (rangeContainsEpk(range, row.epk)) found.push(row)
  }
  return found.filter(({ lsn }) => lsn < endLsn).toSorted((a, b) => a.lsn - b.lsn)
}

/**
 * The rows that a range removes next, if at all: those of its lowest LSN. Where others come first in a segment that it
 * shares, theirs: then there may be something to remove, too.
 */
export function lowestRows(
  connection: Connection,
  range: RangeRow,
  wanted: { readonly kind: AgingKind; readonly collection: number },
): readonly AgingRow[] {
  const [{ id: own } = { id: -1 }, ...others] = range.segments
  // One LSN is one transaction there, whose rows age together.
  if (others.length === 0) return rowsOf(connection, own, { ...wanted, limit: 1 })
  const rows = range.segments.flatMap(
    ({ id }) => firstLsns(connection, id, { ...wanted, limit: 2 }).rows,
  )
  const lowestLsn = Math.min(...rows.map(({ lsn }) => lsn))
  const lowest = rows.filter(({ lsn }) => lsn === lowestLsn)
  const ofRange = lowest.filter(({ epk }) => rangeContainsEpk(range, epk))
  return ofRange.length > 0 ? ofRange : lowest
}

/** At least one whole LSN, even if its transaction has more rows than requested. */
function firstLsns(
  connection: Connection,
  segment: number,
  wanted: { readonly kind: AgingKind; readonly collection: number; readonly limit: number },
): { readonly rows: readonly AgingRow[]; readonly isCut: boolean } {
  for (let { limit } = wanted; ; limit *= 4) {
    const rows = rowsOf(connection, segment, { ...wanted, limit })
    const isCut = rows.length >= limit
    if (!isCut || rows[0]?.lsn !== rows.at(-1)?.lsn) return { rows, isCut }
  }
}

function rowsOf(
  connection: Connection,
  segment: number,
  {
    kind,
    collection,
    limit,
  }: { readonly kind: AgingKind; readonly collection: number; readonly limit: number },
): readonly AgingRow[] {
  const first = segment * SEGMENT_SLOTS
  return connection
    .all(STATEMENTS[kind], collection, first, first + SEGMENT_SLOTS, limit)
    .map(agingRow)
}

function agingRow(row: Row): AgingRow {
  return {
    seq: numberColumn(row, 0),
    lsn: numberColumn(row, 1),
    writtenAt: numberColumn(row, 2),
    epk: textColumn(row, 3),
  }
}
