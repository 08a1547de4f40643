import { rangeContainsEpk } from '@tidemark/contracts'
import type { AgingKind, AgingTimes } from '@tidemark/store/engine'
import type { RangeRow } from '../catalog/collection-row.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { Sql, SqlRow } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'

export interface AgingRow extends AgingTimes {
  readonly segment: number
  readonly ord: number
}

/** In segment `m.segment` of collection `m.coll`, oldest first. */
const ROWS_OF_SEGMENT: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: `SELECT d.segment, d.lsn, d.ord, d.ts AS at, d.epk FROM :schema.doc d
  WHERE d.kind = 1 AND d.coll = m.coll AND d.segment = m.segment ORDER BY d.lsn`,
  versions: `SELECT d.segment, d.lsn, d.ord, d.at, d.epk FROM :schema.log d
  WHERE d.segment = m.segment ORDER BY d.lsn`,
}

const OLDEST_OF_RANGES: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: 'SELECT pkrange, lsn, at, epk FROM :schema.oldest_pending($1)',
  versions: 'SELECT pkrange, lsn, at, epk FROM :schema.oldest_versions($1)',
}

/** The oldest row of each range that has rows, by the range's number. */
export async function oldestOfRanges(
  { sql, statements }: { readonly sql: Sql; readonly statements: Statements },
  { kind, collection }: { readonly kind: AgingKind; readonly collection: number },
): Promise<ReadonlyMap<number, AgingTimes>> {
  const rows = await sql.rows(statements.of(OLDEST_OF_RANGES[kind]), [collection])
  return new Map(rows.map((row) => [numberColumn(row, 0), agingTimes(row, 1)]))
}

const OLDEST_OF_RANGE: Readonly<Record<AgingKind, string>> = {
  pendingDeletes: oldestOfRange('pendingDeletes'),
  versions: oldestOfRange('versions'),
}

function oldestOfRange(kind: AgingKind): string {
  return `SELECT f.lsn, f.at, f.epk, f.segment, f.ord FROM :schema.pkrange_segment m
CROSS JOIN LATERAL (${ROWS_OF_SEGMENT[kind]} FETCH FIRST $3 ROWS WITH TIES) f
WHERE m.coll = $1 AND m.pkrange = $2 ORDER BY f.lsn, f.segment, f.ord`
}

/**
 * The first rows of a range in LSN order, over all its segments: whole LSNs only, and none above the first that was not
 * read. They are removed in this order, so that one LSN marks what is gone. Within a single segment it would not: after
 * a merge, rows of the other half may come in between.
 *
 * Rows of a segment's other ranges are read too. If there are many of them, fewer or no rows are found here, until
 * those are removed or the segment is folded.
 */
export async function oldestRows(
  { sql, statements }: { readonly sql: Sql; readonly statements: Statements },
  range: RangeRow,
  {
    kind,
    collection,
    limit,
  }: { readonly kind: AgingKind; readonly collection: number; readonly limit: number },
): Promise<readonly AgingRow[]> {
  const values = [collection, range.number, limit]
  const rows = (await sql.rows(statements.of(OLDEST_OF_RANGE[kind]), values)).map(agingRow)
  const seen = new Map<number, { rows: number; lastLsn: number }>()
  for (const { segment, lsn } of rows) {
    seen.set(segment, { rows: (seen.get(segment)?.rows ?? 0) + 1, lastLsn: lsn })
  }
  const cutShort = [...seen.values()].filter((each) => each.rows >= limit)
  const endLsn = Math.min(...cutShort.map(({ lastLsn }) => lastLsn))
  return rows.filter(({ lsn, epk }) => lsn <= endLsn && rangeContainsEpk(range, epk))
}

/** Of the columns lsn, at, epk, which begin at `first`. */
export function agingTimes(row: SqlRow, first: number): AgingTimes {
  return {
    lsn: numberColumn(row, first),
    writtenAt: numberColumn(row, first + 1),
    epk: textColumn(row, first + 2),
  }
}

function agingRow(row: SqlRow): AgingRow {
  return { ...agingTimes(row, 0), segment: numberColumn(row, 3), ord: numberColumn(row, 4) }
}
