import { LIVE_ROW } from '@tidemark/contracts'
import { type FeedCount, type FeedCountQuery } from '../engine/feed-query.ts'
import { collectPage, type CollectedPage } from './collect-page.ts'
import type { MemoryRange } from './memory-range.ts'
import type { MemoryRow } from './memory-row.ts'
import type { SegmentRow } from './memory-segment.ts'

/** Counts what a page of the query's mode would contain. */
export function countFeed(
  range: MemoryRange,
  query: FeedCountQuery,
  isExpired: (row: MemoryRow) => boolean,
): FeedCount {
  const { pendingDeletes, afterLsn, mode } = query
  const page =
    mode === 'allVersions'
      ? writeTimes(range.versions.after(afterLsn, query.range), query, ({ commitMs }) => commitMs)
      : writeTimes(range.rows.after(afterLsn, query.range), query, (row) => {
          const counts = row.kind === LIVE_ROW ? !isExpired(row) : pendingDeletes
          return counts ? row.ts * 1000 : undefined
        })
  return {
    rows: page.items.length,
    isExact: page.isWhole,
    newestLsn: range.lsn,
    oldestMs: page.items[0],
    horizons: range.horizonsOf(query.range, mode).horizons,
  }
}

function writeTimes<Row extends SegmentRow>(
  rows: Iterable<Row>,
  { maxItems }: FeedCountQuery,
  timeMs: (row: Row) => number | undefined,
): CollectedPage<number> {
  return collectPage(rows, { maxItems, maxChars: Infinity, item: timeMs, chars: () => 0 })
}
