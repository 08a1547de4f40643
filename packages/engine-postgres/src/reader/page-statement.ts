import { rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { FeedPageQuery } from '@tidemark/store/engine'
import type { RangeRow, SegmentRow } from '../catalog/collection-row.ts'
import type { SqlValue } from '../connection/sql.ts'
import { storeTime } from './read-context.ts'

/** LSNs that a page reads when it leaves rows out: most of them may belong to other ranges. */
const MAX_FILTERED_LSNS = 50_000

/** The source of a page. */
export interface PageRows {
  readonly table: 'doc' | 'log'
  /** Column of the segment with the horizons of these rows. */
  readonly horizon: 'horizon' | 'log_horizon'
  /** After the LSN. `d` is the row, `h` the head with now_ms, default_ttl and eras. */
  readonly columns: readonly string[]
  /** Bytes of a row's texts. */
  readonly size: string
  /** Only these rows; undefined = all. */
  readonly condition: string | undefined
}

/** The clock by which a page judges expiry: the server's, or only the given time. */
export interface PageTime {
  /** Epoch ms. */
  readonly atLeastMs: number
  readonly clock: 'server' | 'given'
}

export interface PageStatement {
  readonly template: string
  readonly values: readonly SqlValue[]
  /** Everything up to here is read, unless a limit ends the page; undefined = everything. */
  readonly untilLsn: number | undefined
}

/**
 * One page of a pkrange in one statement, and so in one snapshot. The first row has the range's newest LSN and, as
 * JSON, [version, epoch, store time, horizons]. Then follow rows of all its segments in LSN order. The page ends with
 * the whole LSN that reaches either limit (CF-7). Two halves that were merged may have the same LSN: then the segments'
 * order decides.
 *
 * The sizes of the rows are summed first. To count along with the rows would copy each of them, which cost a third of
 * the server's time for a page, and is needed only for the rare page that would be too large.
 */
export function pageStatement(
  { collection, range: wanted, afterLsn, maxItems, maxChars }: FeedPageQuery,
  { range, rows, time }: { range: RangeRow; rows: PageRows; time: PageTime },
): PageStatement {
  const segments = range.segments.filter(
    (segment) =>
      rangesOverlap(segment, wanted) && (segment.state === 'open' || segment.lsn > afterLsn),
  )
  const values: SqlValue[] = [collection.number, time.atLeastMs, range.segment, afterLsn]
  const parameter = (value: SqlValue): string => `$${values.push(value)}`
  // Of all parts or of none: otherwise each mixture would be a separate text, which each connection prepares.
  const hasOthers = segments.some((each) => !rangeContains(wanted, each))
  const isFiltered = rows.condition !== undefined || hasOthers
  const untilLsn = isFiltered ? windowEnd(segments, afterLsn) : undefined
  const limits = ['d.lsn > $4']
  if (untilLsn !== undefined) limits.push(`d.lsn <= ${parameter(untilLsn)}`)
  if (rows.condition !== undefined) limits.push(rows.condition)
  const columns = rows.columns.map((column, index) => `${column} AS c${index}`).join(', ')
  // Joined only where needed: it is a step for each row.
  const needsHead = [...rows.columns, ...limits].some((sql) => sql.includes('h.'))
  const table = `${needsHead ? 'h, ' : ''}:schema.${rows.table} d`
  if (hasOthers) limits.push(keysWithin(wanted, parameter))
  const places = segments.map(
    ({ id }) => `FROM ${table} WHERE d.segment = ${parameter(id)} AND ${limits.join(' AND ')}`,
  )
  const [items, chars] = [parameter(maxItems), parameter(maxChars)]
  /** The page's rows if `condition` holds, otherwise none, without reading the table. */
  const firstRows = (selected: string, condition: string): string => {
    const parts = places.map(
      (place, part) =>
        `SELECT d.lsn, ${part} AS part, d.ord, ${selected} ${place} AND ${condition}`,
    )
    return `(${parts.join('\n    UNION ALL ')}
    ORDER BY lsn FETCH FIRST ${items} ROWS WITH TIES) r`
  }
  const names = rows.columns.map((_, index) => `c${index}`).join(', ')
  const nulls = rows.columns.map(() => 'NULL').join(', ')
  const now = time.clock === 'server' ? storeTime(2) : 'greatest(b.clock, $2::bigint)'
  const template = `WITH h AS MATERIALIZED (
  SELECT s.lsn, json_build_array(c.version, s.epoch, ${now}, s.${rows.horizon})::text AS head,
    ${now} AS now_ms, c.default_ttl, c.eras
  FROM :schema.collection c JOIN :schema.database b ON b.number = c.db
  JOIN :schema.segment s ON s.id = $3 AND s.state = 'open' WHERE c.number = $1),
f AS MATERIALIZED (
  SELECT (SELECT coalesce(sum(size), 0) FROM ${firstRows(`${rows.size} AS size`, 'true')}) <= ${chars} AS fits FROM h)
SELECT lsn, head, ${nulls} FROM h
UNION ALL
(SELECT lsn, NULL, ${names} FROM ${firstRows(columns, '(SELECT fits FROM f)')}
  ORDER BY lsn, part, ord)
UNION ALL
(SELECT lsn, NULL, ${names} FROM (
  SELECT lsn, part, ord, ${names}, sum(size) OVER (ORDER BY lsn) - sum(size) OVER (PARTITION BY lsn) AS before
  FROM ${firstRows(`${columns}, ${rows.size} AS size`, 'NOT (SELECT fits FROM f)')}) counted
WHERE before < ${chars} ORDER BY lsn, part, ord)`
  return { template, values, untilLsn }
}

/** Limits the LSNs that can have rows to the number that a page can read. */
function windowEnd(segments: readonly SegmentRow[], afterLsn: number): number {
  const firstLsn = Math.min(...segments.map(({ base }) => Math.max(base, afterLsn)))
  return firstLsn + MAX_FILTERED_LSNS
}

function keysWithin(
  { minInclusive, maxExclusive }: FeedRange,
  parameter: (value: SqlValue) => string,
): string {
  return `d.epk >= ${parameter(minInclusive)} AND d.epk < ${parameter(maxExclusive)}`
}
