import { horizonsOf, type FeedCount, type FeedCountQuery } from '@tidemark/store/engine'
import type { RowSelection } from '../segments/segment-rows.ts'
import { feedSelection, logSelection, type FeedSnapshot } from './feed-pages.ts'
import { buildPage } from './page-builder.ts'

/** `time` is the epoch second of a row of the feed, or the epoch ms of an entry of the log. */
type CountedRow = readonly [lsn: number, time: number]

/** A count of what one page would contain, and the LSN up to which it read. */
export interface CountedPiece extends FeedCount {
  readonly throughLsn: number
}

/** Rows that one piece counts. Between pieces, other work has its turn. */
const ROWS_A_PIECE = 5000
/** Pieces of a count: many of them may hold only rows of other ranges. Enough for the highest limit of a lag. */
const MAX_PIECES = 20

/**
 * Counts piece by piece, each in a snapshot of its own. What changes meanwhile moves to the feed's end, and is counted
 * there too if the count comes that far.
 */
export async function countInPieces(
  query: FeedCountQuery,
  countPiece: (query: FeedCountQuery) => Promise<CountedPiece>,
): Promise<FeedCount> {
  let rows = 0
  let oldestMs: number | undefined
  let { afterLsn } = query
  for (let pieces = 1; ; pieces++) {
    const maxItems = Math.min(ROWS_A_PIECE, query.maxItems - rows)
    const piece = await countPiece({ ...query, afterLsn, maxItems })
    rows += piece.rows
    oldestMs ??= piece.oldestMs
    afterLsn = piece.throughLsn
    if (piece.isExact || rows >= query.maxItems || pieces === MAX_PIECES) {
      const { isExact, newestLsn, horizons } = piece
      return { rows, isExact, newestLsn, oldestMs, horizons }
    }
    query.signal?.throwIfAborted()
  }
}

/** Counts the rows of a page without reading their texts. @throws ERR_ALL_VERSIONS_OFF */
export function countFeed(snapshot: FeedSnapshot, query: FeedCountQuery): CountedPiece {
  const { connection, range, head } = snapshot
  const isLog = query.mode === 'allVersions'
  const { rows, isWhole, lsn } = buildPage<CountedRow>(
    connection,
    { ...query, maxChars: Infinity },
    {
      range,
      newestLsn: head.lsn,
      selection: isLog ? logTimes(snapshot, query) : feedTimes(snapshot, query),
      sizeOf: () => 0,
    },
  )
  const horizons = horizonsOf(isLog ? head.logHorizons : head.horizons, query.range)
  const oldest = rows[0]?.[1]
  return {
    rows: rows.length,
    isExact: isWhole,
    newestLsn: head.lsn,
    throughLsn: lsn,
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
    columns: ['ts'],
    texts: undefined,
    condition: query.pendingDeletes ? condition : live,
  }
}

function logTimes(snapshot: FeedSnapshot, query: FeedCountQuery): RowSelection {
  return { ...logSelection(snapshot, query), columns: ['at'] }
}
