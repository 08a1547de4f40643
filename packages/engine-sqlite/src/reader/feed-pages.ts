import { AllVersionsOffError } from '@tidemark/contracts'
import { type FeedRow, type VersionRow } from '@tidemark/contracts/internal'
import {
  horizonAt,
  horizonsOf,
  singleEpkRange,
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedPageQuery,
} from '@tidemark/store/engine'
import type { CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { liveRows } from '../connection/live-rows.ts'
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
  epk: string,
  rid: string | null,
  made: number | null,
  previousLsn: number | null,
  previousTs: number | null,
  previousMade: number | null,
]

const OPERATIONS = ['create', 'replace', 'delete', 'expire'] as const

/** @throws ERR_ALL_VERSIONS_OFF */
export function readVersionPage(snapshot: FeedSnapshot, query: FeedPageQuery): EngineVersionPage {
  const { connection, collection, range, head } = snapshot
  assertKeepsVersions(collection)
  const { rows, lsn } = buildPage<LogRow>(connection, query, {
    range,
    newestLsn: head.lsn,
    selection: {
      table: 'log',
      columns: [
        'id',
        'pk',
        'op',
        'at',
        'current',
        'previous',
        'epk',
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
      range: query.range,
      condition: undefined,
    },
    sizeOf: (row) => (row[5]?.length ?? 0) + (row[6]?.length ?? 0),
  })
  const horizons = horizonsOf(head.logHorizons, query.range)
  const horizon = horizonAt(horizons, query.range)
  // Entries from before the log was switched on again may still exist: part of a history is not a history.
  const kept = horizon === 0 ? rows : rows.filter((row) => row[0] > horizonOfKey(head, row[7]))
  return { rows: kept.map(versionRow), ...pageEnd(lsn, head), horizon, horizons }
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

/** The LSN up to which the log of one key's changes is trimmed. */
export function horizonOfKey({ logHorizons }: RangeHead, epk: string): number {
  return horizonAt(logHorizons, singleEpkRange(epk))
}

function versionRow(row: LogRow): VersionRow {
  const [lsn, id, partitionKey, op, commitMs, current, previous, , owned, made] = row
  const [, , , , , , , , , , previousLsn, previousTs, previousMade] = row
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
