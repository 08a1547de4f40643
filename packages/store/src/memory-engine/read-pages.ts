import type { Horizons } from '../engine/horizons.ts'
import {
  type FeedMode,
  type FeedRange,
  LIVE_ROW,
  type FeedRow,
  type VersionRow,
} from '@tidemark/contracts'
import {
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedPageQuery,
  type FeedStart,
} from '../engine/feed-query.ts'
import { collectPage, type CollectedPage } from './collect-page.ts'
import type { MemoryRange } from './memory-range.ts'
import type { MemoryRow } from './memory-row.ts'

/** One page of a pkrange's feed: live documents that are not `isExpired`, and pending deletes. */
export function readFeedPage(
  range: MemoryRange,
  query: FeedPageQuery,
  isExpired: (row: MemoryRow) => boolean,
): EngineFeedPage {
  const { maxItems, maxChars } = query
  const page = collectPage(range.rows.after(query.afterLsn, query.range), {
    maxItems,
    maxChars,
    item: (row): FeedRow | undefined =>
      row.kind === LIVE_ROW && isExpired(row) ? undefined : feedRow(row),
    chars: ([, , body]) => body.length,
  })
  return pageOf(range, { page, query, mode: 'latestVersion' })
}

function feedRow(row: MemoryRow): FeedRow {
  const { lsn, kind, expirySecond, ts, partitionKey, id, version } = row
  const { body, rid, ttl } = version
  const isLive = kind === LIVE_ROW
  const [versionLsn, versionTs] = isLive ? [null, null] : [version.lsn, version.ts]
  return [lsn, kind, body, expirySecond, ts, partitionKey, id, rid, ttl, versionLsn, versionTs]
}

/** One page of a pkrange's log of all versions. */
export function readVersionPage(range: MemoryRange, query: FeedPageQuery): EngineVersionPage {
  const { maxItems, maxChars } = query
  const page = collectPage(range.versions.after(query.afterLsn, query.range), {
    maxItems,
    maxChars,
    item: ({ lsn, id, partitionKey, operation, commitMs, current, previous }): VersionRow => ({
      lsn,
      id,
      partitionKey,
      operation,
      commitMs,
      current,
      previous,
    }),
    chars: ({ current, previous }) => (current?.body.length ?? 0) + (previous?.body.length ?? 0),
  })
  return pageOf(range, { page, query, mode: 'allVersions' })
}

/** The LSN after which a reader of `wanted` begins. */
export function startLsn(
  range: MemoryRange,
  {
    wanted,
    start,
    mode,
  }: { readonly wanted: FeedRange; readonly start: FeedStart; readonly mode: FeedMode },
): number {
  switch (start.kind) {
    case 'beginning':
      return 0
    case 'now':
      return range.lsn
    case 'time': {
      const first =
        mode === 'latestVersion'
          ? firstOf(range.rows.after(0, wanted), ({ ts }) => ts >= start.ts)
          : firstOf(range.versions.after(0, wanted), ({ commitMs }) => commitMs >= start.ts * 1000)
      return first === undefined ? range.lsn : first.lsn - 1
    }
  }
}

function firstOf<Row>(rows: Iterable<Row>, matches: (row: Row) => boolean): Row | undefined {
  for (const row of rows) if (matches(row)) return row
  return undefined
}

function pageOf<Item>(
  range: MemoryRange,
  {
    page,
    query,
    mode,
  }: {
    readonly page: CollectedPage<Item>
    readonly query: FeedPageQuery
    readonly mode: FeedMode
  },
): {
  readonly rows: readonly Item[]
  readonly lsn: number
  readonly newestLsn: number
  readonly epoch: number
  readonly caughtUp: boolean
  readonly horizon: number
  readonly horizons: Horizons
} {
  const newestLsn = range.lsn
  const lsn = page.lsn ?? newestLsn
  const caughtUp = lsn === newestLsn
  const horizons = range.horizonsOf(query.range, mode)
  return { rows: page.items, lsn, newestLsn, epoch: 0, caughtUp, ...horizons }
}
