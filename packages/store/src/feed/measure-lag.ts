import {
  InvalidOptionError,
  lsn,
  type DocumentBody,
  type FeedLag,
  type FeedLagRequest,
} from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'
import { assertNotBeyond, assertNothingMissed } from './reader-position.ts'

const DEFAULT_LIMIT = 1_000
/** About a tenth of a second in an embedded engine, in steps between which other work can run. */
const MAX_LIMIT = 100_000

/**
 * How much a reader has before it. The engine reads the rows that it counts, but no bodies. It stops at `limit` rows
 * plus the rest of the last one's transaction, or at its own bound for a page where most rows do not belong to the
 * range. An expired document counts once its pending delete is written.
 *
 * @throws ERR_INVALID_OPTION, ERR_INVALID_CONTINUATION, ERR_RANGE_GONE, ERR_HORIZON_PASSED, ERR_ALL_VERSIONS_OFF
 */
export async function measureLag<T extends DocumentBody>(
  reader: FeedReader<T>,
  { range, continuation, limit, pendingDeletes = true, signal }: FeedLagRequest,
): Promise<FeedLag> {
  const { open, mode } = reader
  const position = reader.position(continuation, range)
  const count = await open.engine.countFeed({
    collection: open.record,
    range,
    afterLsn: position.lsn,
    mode,
    pendingDeletes,
    maxItems: resolveLimit(limit),
    signal,
  })
  assertNotBeyond(position, count.newestLsn)
  if (pendingDeletes || mode === 'allVersions') assertNothingMissed(position, count.horizons)
  return {
    newestLsn: lsn(count.newestLsn),
    remainingChanges: count.rows,
    isExact: count.isExact,
    oldestChangeMs: count.oldestMs,
  }
}

function resolveLimit(limit: number | undefined): number {
  if (limit === undefined) return DEFAULT_LIMIT
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new InvalidOptionError(
    `limit must be a whole number from 1 to ${MAX_LIMIT}, got ${String(limit)}`,
  )
}
