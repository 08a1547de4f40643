import {
  errorCode,
  type Change,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedLag,
  type FeedLagRequest,
  type FeedMode,
} from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { LagProblem } from './feed-estimate.ts'

export interface RangeMeasure extends FeedLag {
  readonly problem: LagProblem | undefined
}

/** As of `ChangeFeedSource.measureLag`, of a range that is present. */
export interface RangeMeasureRequest extends FeedLagRequest {
  readonly limit: number
  readonly mode: FeedMode
}

/**
 * What a reader at a continuation has before it: by `measureLag`, else as far as the range's newest LSN and one
 * page of one change say. A position that the feed refuses is told of, not thrown.
 *
 * Rejects with ERR_RANGE_GONE and with the feed's own failures.
 */
export async function measureRange<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  request: RangeMeasureRequest,
): Promise<RangeMeasure> {
  try {
    return { ...(await measured(feed, request)), problem: undefined }
  } catch (error) {
    const problem = problemOf(error)
    if (problem === undefined) throw error
    return { ...(await leastOf(feed, request, problem)), isExact: false, problem }
  }
}

function measured<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  request: RangeMeasureRequest,
): Promise<FeedLag> {
  return feed.measureLag?.(request) ?? measuredByPage(feed, request)
}

async function measuredByPage<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  { limit: _limit, ...request }: RangeMeasureRequest,
): Promise<FeedLag> {
  const newestLsn = await newestOf(feed, request)
  const { changes, caughtUp } = await feed.readPage({ ...request, maxItemCount: 1 })
  const [first] = changes
  return {
    newestLsn,
    remainingChanges: changes.length,
    isExact: caughtUp,
    oldestChangeMs: first && changeMs(first),
  }
}

/** Of a reader that came too late: the documents that are still there. Of any other: how far the range is. */
async function leastOf<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  request: RangeMeasureRequest,
  problem: LagProblem,
): Promise<FeedLag> {
  if (problem === 'horizonPassed' && request.mode === 'latestVersion') {
    try {
      return await measured(feed, { ...request, pendingDeletes: false })
    } catch (error) {
      // It may purge more than pending deletes.
      if (problemOf(error) === undefined) throw error
    }
  }
  const newestLsn = await newestOf(feed, request)
  return { newestLsn, remainingChanges: 0, isExact: false, oldestChangeMs: undefined }
}

async function newestOf<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  { range, mode, signal }: Pick<RangeMeasureRequest, 'range' | 'mode' | 'signal'>,
): Promise<FeedLag['newestLsn']> {
  return (await feed.resolveStart({ range, start: 'now', mode, signal })).lsn
}

function problemOf(error: unknown): LagProblem | undefined {
  switch (errorCode(error)) {
    case 'ERR_HORIZON_PASSED':
      return 'horizonPassed'
    case 'ERR_INVALID_CONTINUATION':
      return 'invalidPosition'
    default:
      return undefined
  }
}

function changeMs(change: Change): number {
  switch (change.kind) {
    case 'document':
      return change.committedAtMs
    case 'pendingDelete':
      return change.expiredAtMs
    case 'version':
      return change.crts
    default:
      return assertNever(change)
  }
}
