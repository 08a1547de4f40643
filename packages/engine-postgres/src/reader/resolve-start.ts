import { AllVersionsOffError, rangesOverlap } from '@tidemark/contracts'
import {
  horizonAt,
  horizonsOf,
  parseHorizons,
  rangeHolding,
  type FeedStart,
  type RangeCounter,
  type StartQuery,
} from '@tidemark/store/engine'
import type { RangeRow, SegmentRow } from '../catalog/collection-row.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { Sql } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'
import type { ReadContext } from './read-context.ts'

/** The table whose rows are read, and the column to compare. */
type StartRows =
  | { readonly table: 'doc'; readonly column: 'ts' }
  /** In ms. */
  | { readonly table: 'log'; readonly column: 'at' }

/** See `DatabaseEngine.resolveStart`. */
export async function resolveStart(
  { connections, statements, collections }: ReadContext,
  { collection: record, range: wanted, start, mode }: StartQuery,
): Promise<RangeCounter> {
  return connections.snapshot(async (sql) => {
    const collection = await collections.readIn(sql, record)
    const range = rangeHolding(collection.ranges, wanted)
    const isLog = mode === 'allVersions'
    if (isLog && collection.record.definition.allVersions === null) {
      throw new AllVersionsOffError(record.id)
    }
    const head = 'SELECT lsn, epoch, horizon, log_horizon FROM :schema.segment WHERE id = $1'
    const [row = []] = await sql.rows(statements.of(head), [range.segment])
    const horizons = horizonsOf(parseHorizons(textColumn(row, isLog ? 3 : 2)), wanted)
    const rows = isLog
      ? ({ table: 'log', column: 'at' } as const)
      : ({ table: 'doc', column: 'ts' } as const)
    const search = { sql, statements, rows, wanted }
    return {
      lsn: await startLsn(search, { range, start, newestLsn: numberColumn(row, 0) }),
      epoch: numberColumn(row, 1),
      horizon: horizonAt(horizons, wanted),
      horizons,
    }
  })
}

interface Search {
  readonly sql: Sql
  readonly statements: Statements
  readonly rows: StartRows
  readonly wanted: StartQuery['range']
}

async function startLsn(
  search: Search,
  {
    range,
    start,
    newestLsn,
  }: { readonly range: RangeRow; readonly start: FeedStart; readonly newestLsn: number },
): Promise<number> {
  if (start.kind === 'beginning') return 0
  if (start.kind === 'now') return newestLsn
  const since = search.rows.table === 'doc' ? start.ts : start.ts * 1000
  let position = newestLsn
  for (const segment of range.segments) {
    if (!rangesOverlap(segment, search.wanted)) continue
    const first = await firstLsnSince(search, { segment, since, newestLsn })
    // After a merge, the LSNs of both halves do not show which was first: the lower one includes all.
    if (first !== undefined) position = Math.min(position, first - 1)
  }
  return position
}

/** The LSN of the first row that was written at `since` or later; undefined if there is none. */
async function firstLsnSince(
  { sql, statements, rows: { table, column }, wanted }: Search,
  {
    segment,
    since,
    newestLsn,
  }: { readonly segment: SegmentRow; readonly since: number; readonly newestLsn: number },
): Promise<number | undefined> {
  // Rows that were moved here may be out of time order, so read them one by one.
  let low = segment.base
  let high = segment.folded ? low : segment.state === 'open' ? newestLsn : segment.lsn
  const next = statements.of(
    `SELECT lsn, ${column} FROM :schema.${table} WHERE segment = $1 AND lsn > $2 ORDER BY lsn LIMIT 1`,
  )
  // By binary search: everything up to `low` is before `since`; the first row above `high` is not, or does not exist.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [row] = await sql.rows(next, [segment.id, middle])
    if (row === undefined || numberColumn(row, 1) >= since) high = middle
    else low = numberColumn(row, 0)
  }
  const first = statements.of(
    `SELECT lsn FROM :schema.${table} WHERE segment = $1 AND lsn > $2 AND ${column} >= $3
     AND epk >= $4 AND epk < $5 ORDER BY lsn LIMIT 1`,
  )
  const { minInclusive, maxExclusive } = wanted
  const [row] = await sql.rows(first, [segment.id, low, since, minInclusive, maxExclusive])
  return row && numberColumn(row, 0)
}
