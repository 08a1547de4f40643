import { AllVersionsOffError } from '@tidemark/contracts'
import { type FeedRow, type VersionRow } from '@tidemark/contracts/internal'
import {
  horizonAt,
  horizonsOf,
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedPageQuery,
  type Horizon,
  type Horizons,
} from '@tidemark/store/engine'
import type { CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { liveRows, type Condition } from '../connection/live-rows.ts'
import type { RowSelection } from '../segments/segment-rows.ts'
import { buildPage } from './page-builder.ts'
import type { RangeHead } from './range-head.ts'

/** What a page is read from, all in one snapshot. */
export interface FeedSnapshot {
  readonly connection: Connection
  readonly collection: CollectionRow
  readonly range: RangeRow
  readonly head: RangeHead
  /** Epoch seconds of the store's clock. */
  readonly nowSecond: number
}

export function readFeedPage(snapshot: FeedSnapshot, query: FeedPageQuery): EngineFeedPage {
  const { connection, range, head } = snapshot
  const { rows, lsn } = buildPage<FeedRow>(connection, query, {
    range,
    newestLsn: head.lsn,
    selection: feedSelection(snapshot, query),
    sizeOf: (row) => row[2].length,
  })
  const horizons = horizonsOf(head.horizons, query.range)
  return { rows, ...pageEnd(lsn, head), horizon: horizonAt(horizons, query.range), horizons }
}

/** Documents that are live now, and pending deletes. */
export function feedSelection(
  { collection, nowSecond }: Pick<FeedSnapshot, 'collection' | 'nowSecond'>,
  { range }: Pick<FeedPageQuery, 'range'>,
): RowSelection {
  const { condition, expirySecond } = liveRows(collection, nowSecond)
  const second = expirySecond === 'exp' ? 'exp' : `iif(kind = 1, exp, ${expirySecond})`
  return {
    table: 'doc',
    columns: ['kind', 'body', second, 'ts', 'pk', 'id', 'rid', 'made', 'vlsn', 'vts'],
    texts: { size: 'octet_length(body)', columns: ['body'] },
    range,
    condition: condition && { ...condition, sql: `(kind = 1 OR ${condition.sql})` },
  }
}

type LogRow = readonly [
  lsn: number,
  id: string,
  pk: string,
  op: number,
  at: number,
  current: string | null,
  previous: string | null,
  rid: string | null,
  made: number | null,
  previousLsn: number | null,
  previousTs: number | null,
  previousMade: number | null,
]

const OPERATIONS = ['create', 'replace', 'delete', 'expire'] as const

/** @throws ERR_ALL_VERSIONS_OFF */
export function readVersionPage(snapshot: FeedSnapshot, query: FeedPageQuery): EngineVersionPage {
  const { connection, range, head } = snapshot
  const { rows, lsn } = buildPage<LogRow>(connection, query, {
    range,
    newestLsn: head.lsn,
    selection: {
      ...logSelection(snapshot, query),
      columns: [
        'id',
        'pk',
        'op',
        'at',
        'current',
        'previous',
        'rid',
        'made',
        'plsn',
        'pts',
        'pmade',
      ],
      texts: {
        size: '(coalesce(octet_length(current), 0) + coalesce(octet_length(previous), 0))',
        columns: ['op', 'current', 'previous'],
      },
    },
    sizeOf: (row) => (row[5]?.length ?? 0) + (row[6]?.length ?? 0),
  })
  const horizons = horizonsOf(head.logHorizons, query.range)
  return {
    rows: rows.map(versionRow),
    ...pageEnd(lsn, head),
    horizon: horizonAt(horizons, query.range),
    horizons,
  }
}

/**
 * Entries of the log. Those from before it was switched on again may still exist, and are left out: part of a history
 * is not a history.
 *
 * @throws ERR_ALL_VERSIONS_OFF
 */
export function logSelection(
  { collection, head }: Pick<FeedSnapshot, 'collection' | 'head'>,
  { range, afterLsn }: Pick<FeedPageQuery, 'range' | 'afterLsn'>,
): RowSelection {
  assertKeepsVersions(collection)
  const passed = horizonsOf(head.logHorizons, range).filter(({ lsn }) => lsn > afterLsn)
  const condition = passed.length === 0 ? undefined : aboveAll(passed)
  return { table: 'log', columns: [], range, condition }
}

function aboveAll(horizons: Horizons): Condition {
  const ends = horizons.flatMap(({ range }) => [range.minInclusive, range.maxExclusive])
  const { sql, values } = horizonOfKey(horizons, [...new Set(ends)].toSorted())
  return { sql: `lsn > ${sql}`, values }
}

/**
 * The horizon of a row's key, which is found among `ends` as in a tree: a list of as many conditions as a range that was
 * merged from thousands has horizons would be slow, and too deep for SQLite.
 */
function horizonOfKey(horizons: Horizons, ends: readonly string[]): Condition {
  const middle = ends.length >>> 1
  const end = ends[middle]
  if (end === undefined)
    return { sql: '?', values: [Math.max(0, ...horizons.map(({ lsn }) => lsn))] }
  const isBelow = ({ range }: Horizon): boolean => range.minInclusive < end
  const isAbove = ({ range }: Horizon): boolean => range.maxExclusive > end
  const below = horizonOfKey(horizons.filter(isBelow), ends.slice(0, middle))
  const above = horizonOfKey(horizons.filter(isAbove), ends.slice(middle + 1))
  return {
    sql: `CASE WHEN epk < ? THEN ${below.sql} ELSE ${above.sql} END`,
    values: [end, ...below.values, ...above.values],
  }
}

function pageEnd(
  lsn: number,
  { lsn: newestLsn, epoch }: RangeHead,
): Pick<EngineFeedPage, 'lsn' | 'newestLsn' | 'epoch' | 'caughtUp'> {
  return { lsn, newestLsn, epoch, caughtUp: lsn >= newestLsn }
}

/** @throws ERR_ALL_VERSIONS_OFF */
export function assertKeepsVersions({ record }: CollectionRow): void {
  if (record.definition.allVersions === null) throw new AllVersionsOffError(record.id)
}

function versionRow(row: LogRow): VersionRow {
  const [lsn, id, partitionKey, op, commitMs, current, previous, owned, made] = row
  const [, , , , , , , , , previousLsn, previousTs, previousMade] = row
  const rid = owned ?? ''
  const ts = Math.floor(commitMs / 1000)
  return {
    lsn,
    id,
    partitionKey,
    operation: OPERATIONS[op] ?? 'delete',
    commitMs,
    current: current === null ? undefined : { lsn, ts, rid, ttl: made, body: current },
    previous:
      previous === null
        ? undefined
        : {
            lsn: previousLsn ?? 0,
            ts: previousTs ?? 0,
            rid,
            ttl: previousMade,
            body: previous,
          },
  }
}
