import {
  feedRangeId,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type FeedRange,
} from '@tidemark/contracts'
import type { ChangeFeedEstimator, LeaseEstimate } from '@tidemark/processor'
import { newestPositions, type RangePosition } from './job-source.ts'

/** One range of the source as the group's leases have it. */
export interface RangeLag {
  readonly leaseId: string
  readonly range: FeedRange
  /** Host that owns it now. */
  readonly owner: string | undefined
  readonly epoch: number
  /** Everything up to here is at the target. */
  readonly checkpointLsn: number
  /** The source's newest commit in this range. */
  readonly newestLsn: number
  /** Transactions of the source that may hold changes still to apply; 0 = caught up. */
  readonly lag: number
}

/** How far a group is behind its feed, range by range. Undefined before the first host has made the leases. */
export async function readLag<S extends DocumentBody>(
  estimator: ChangeFeedEstimator<S>,
  signal?: AbortSignal,
): Promise<readonly RangeLag[] | undefined> {
  // Enough to tell something from nothing: how much it is at most the LSNs tell.
  const { leases } = await estimator.estimate({ limit: 1, signal })
  return leases.length === 0 ? undefined : leases.map(rangeLag)
}

/** Over all ranges. */
export function totalLag(lag: readonly RangeLag[] | undefined): number | undefined {
  return lag?.reduce((sum, range) => sum + range.lag, 0)
}

function rangeLag(lease: LeaseEstimate): RangeLag {
  const { leaseId, range, owner, epoch, checkpointLsn, newestLsn, lsnDistance } = lease
  // Deletes raise the LSN and are not in the feed: a checkpoint below the newest LSN may be caught up.
  const isCaughtUp = lease.remainingChanges === 0 && lease.isExact
  const lag = isCaughtUp ? 0 : Math.max(1, lsnDistance)
  return { leaseId, range, owner, epoch, checkpointLsn, newestLsn, lag }
}

const FIRST_POLL_MS = 20
const LAST_POLL_MS = 500

/**
 * Resolves at an instant at which no range had anything to apply: between two equal readings of the
 * source's newest LSNs, every range of every group was found caught up. While others keep writing fast, it may wait
 * for long; stop them first.
 */
export async function waitForZeroLag<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  groups: readonly ChangeFeedEstimator<S>[],
  {
    isBegun,
    clock,
    signal,
  }: {
    /** Asked when the leases have been read. */
    readonly isBegun: () => Promise<boolean>
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<void> {
  const isCaughtUp = async (): Promise<boolean> => {
    const before = await newestPositions(source, { signal })
    const lags = await Promise.all(groups.map((group) => readLag(group, signal)))
    if (!lags.every((lag) => lag?.every(({ lag: behind }) => behind === 0) === true)) return false
    return (await isBegun()) && samePositions(before, await newestPositions(source, { signal }))
  }
  await polled(isCaughtUp, { clock, signal })
}

/** Resolves when the answer is yes. Asks less often the longer it is not. */
export async function polled(
  ask: () => Promise<boolean>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  for (let delayMs = FIRST_POLL_MS; !(await ask());) {
    await clock.sleep(delayMs, signal)
    delayMs = Math.min(delayMs * 2, LAST_POLL_MS)
  }
}

function samePositions(a: readonly RangePosition[], b: readonly RangePosition[]): boolean {
  const text = (positions: readonly RangePosition[]): string =>
    positions.map(({ range, lsn }) => `${feedRangeId(range)} ${lsn}`).join()
  return text(a) === text(b)
}
