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
  /** Only these rows; undefined = all. `p` has a row for each horizon, with low, high and lsn. */
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
 * The cheaper statement of a page where it is simplest: one segment, of which all rows are wanted; undefined for others.
 * The JSON of the first row also says whether the rows' texts fit; if not, no row follows. Without parts to merge and a
 * last resort for large rows, the server takes a third of the time for a page of 100 rows, mostly for the plan.
 */
export function plainPage(
  { collection, range: wanted, afterLsn, maxItems, maxChars }: FeedPageQuery,
  { range, rows, time }: { range: RangeRow; rows: PageRows; time: PageTime },
): PageStatement | undefined {
  const needed = neededSegments(range, { wanted, afterLsn })
  const isWhole = needed.every((each) => each.id === range.segment && rangeContains(wanted, each))
  if (rows.condition !== undefined || needed.length !== 1 || !isWhole) return undefined
  const place = `FROM :schema.${rows.table} d WHERE d.segment = $3 AND d.lsn > $4`
  const columns = rows.columns.join(', ')
  const nulls = rows.columns.map(() => 'NULL').join(', ')
  const template = `WITH h AS MATERIALIZED (
  SELECT s.lsn, c.version, s.epoch, ${timeOf(time)} AS now_ms, s.${rows.horizon} AS horizon ${HEAD}),
f AS MATERIALIZED (
  SELECT coalesce(sum(r.size), 0) <= $6 AS fits, count(*) AS items
  FROM (SELECT d.lsn, ${rows.size} AS size ${place} ORDER BY d.lsn FETCH FIRST $5 ROWS WITH TIES) r)
SELECT h.lsn, json_build_array(h.version, h.epoch, h.now_ms, h.horizon, f.fits)::text, ${nulls} FROM h, f
UNION ALL
(SELECT d.lsn, NULL, ${columns} ${place}
  ORDER BY d.lsn, d.ord LIMIT coalesce((SELECT f.items FROM h, f WHERE f.fits), 0))`
  const { number } = collection
  const values = [number, time.atLeastMs, range.segment, afterLsn, maxItems, maxChars]
  return { template, values, untilLsn: undefined }
}

/** Of collection $1 and its open segment $3. Nothing when the segment is not open any more. */
const HEAD = `FROM :schema.collection c JOIN :schema.database b ON b.number = c.db
  JOIN :schema.segment s ON s.id = $3 AND s.state = 'open' WHERE c.number = $1`

function timeOf({ clock }: PageTime): string {
  return clock === 'server' ? storeTime(2) : 'greatest(b.clock, $2::bigint)'
}

function neededSegments(
  { segments }: RangeRow,
  { wanted, afterLsn }: { readonly wanted: FeedRange; readonly afterLsn: number },
): readonly SegmentRow[] {
  return segments.filter(
    (segment) =>
      rangesOverlap(segment, wanted) && (segment.state === 'open' || segment.lsn > afterLsn),
  )
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
  const segments = neededSegments(range, { wanted, afterLsn })
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
  const now = timeOf(time)
  const template = `WITH h AS MATERIALIZED (
  SELECT s.lsn, json_build_array(c.version, s.epoch, ${now}, s.${rows.horizon})::text AS head,
    ${now} AS now_ms, c.default_ttl, c.eras, s.${rows.horizon}::json AS horizon ${HEAD}),
p AS MATERIALIZED (
  SELECT e->>0 AS low, e->>1 AS high, (e->>2)::bigint AS lsn FROM h, json_array_elements(h.horizon) e),
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
