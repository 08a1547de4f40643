import { horizonsOf, type FeedCount, type FeedCountQuery } from '@tidemark/store'
import type { RowSelection } from '../segments/segment-rows.ts'
import {
  assertKeepsVersions,
  feedSelection,
  horizonOfKey,
  type FeedSnapshot,
} from './feed-reader.ts'
import { buildPage } from './page-builder.ts'

/** `time` is the epoch second of a row of the feed, the epoch ms of an entry of the log. */
type CountedRow = readonly [lsn: number, time: number, epk: string]

/** Counts the rows of a page without reading their texts. @throws ERR_ALL_VERSIONS_OFF */
export function countFeed(snapshot: FeedSnapshot, query: FeedCountQuery): FeedCount {
  const { connection, collection, range, head } = snapshot
  const isLog = query.mode === 'allVersions'
  if (isLog) assertKeepsVersions(collection)
  const page = buildPage<CountedRow>(
    connection,
    { ...query, maxChars: Infinity },
    {
      range,
      newestLsn: head.lsn,
      selection: isLog ? logTimes(query) : feedTimes(snapshot, query),
      sizeOf: () => 0,
    },
  )
  const horizons = horizonsOf(isLog ? head.logHorizons : head.horizons, query.range)
  // Entries of before the log was switched on again may still be there: parts of a history are none.
  const rows =
    isLog && horizons.length > 0
      ? page.rows.filter(([lsn, , epk]) => lsn > horizonOfKey(head, epk))
      : page.rows
  const oldest = rows[0]?.[1]
  return {
    rows: rows.length,
    isExact: page.isWhole,
    newestLsn: head.lsn,
    oldestMs: oldest === undefined || isLog ? oldest : oldest * 1000,
    horizons,
  }
}

function feedTimes(snapshot: FeedSnapshot, query: FeedCountQuery): RowSelection {
  const selection = feedSelection(snapshot, query)
  const { condition } = selection
  const also = condition === undefined ? '' : ` AND ${condition.sql}`
  const live = { sql: `kind = 0${also}`, values: condition?.values ?? [] }
  return {
    ...selection,
    columns: ['ts', 'epk'],
    texts: undefined,
    condition: query.pendingDeletes ? condition : live,
  }
}

function logTimes({ range }: FeedCountQuery): RowSelection {
  return { table: 'log', columns: ['at', 'epk'], range, condition: undefined }
}
