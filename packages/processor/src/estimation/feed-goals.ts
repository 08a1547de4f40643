import {
  rangesOverlap,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
  type Lsn,
} from '@tidemark/contracts'
import type { FeedEstimate, LeaseEstimate } from './feed-estimate.ts'

/** What had been committed in a range at some moment: everything up to its newest LSN then. */
export interface FeedGoal {
  readonly range: FeedRange
  readonly lsn: Lsn
}

/** What has been committed by now. Rejects with ERR_RANGE_GONE when a range changes meanwhile. */
export async function readFeedGoals<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  request: { readonly mode: FeedMode | undefined; readonly signal: AbortSignal | undefined },
): Promise<readonly FeedGoal[]> {
  const ranges = await feed.readFeedRanges({ signal: request.signal })
  const start = 'now'
  return Promise.all(
    ranges.map(async (range) => {
      const { lsn } = await feed.resolveStart({ ...request, range, start })
      return { range, lsn }
    }),
  )
}

/**
 * The leases under which something of the goals is still to be done. LSNs of a key only rise, over splits and
 * merges too, so that a position at or above the goals of all its keys has passed them.
 *
 * @param doneLsn what is known of a lease to be done besides what is stored
 */
export function unreachedLeases(
  { leases }: FeedEstimate,
  goals: readonly FeedGoal[],
  doneLsn: (lease: LeaseEstimate) => number = () => 0,
): readonly LeaseEstimate[] {
  return leases.filter((lease) => {
    if (lease.remainingChanges === 0 && lease.isExact) return false
    const at = Math.max(lease.checkpointLsn, doneLsn(lease))
    return goals.some(({ range, lsn }) => at < lsn && rangesOverlap(range, lease.range))
  })
}
