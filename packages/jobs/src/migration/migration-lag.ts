import {
  feedRangeId,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type FeedPosition,
  type FeedRange,
  type LeaseGroup,
  type LeaseGroupSnapshot,
} from '@tidemark/contracts'

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

/**
 * How far a group is behind its feed, range by range. Any process may ask: the answer comes from the
 * group's leases and the feed alone. Undefined before the first host has made the leases.
 */
export async function readLag<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  leases: LeaseGroup,
  signal?: AbortSignal,
): Promise<readonly RangeLag[] | undefined> {
  const snapshot = await leases.read(signal)
  if (snapshot.leases.length === 0) return undefined
  return Promise.all(
    snapshot.leases.map(async (lease): Promise<RangeLag> => {
      const { id, range, checkpoint, epoch } = lease
      const newest = await source.resolveStart({ range, start: { kind: 'now' }, signal })
      const behind =
        newest.lsn > checkpoint.lsn && (await hasChanges(source, range, checkpoint, signal))
      return {
        leaseId: id,
        range,
        owner: liveOwner(lease.owner, snapshot),
        epoch,
        checkpointLsn: checkpoint.lsn,
        newestLsn: newest.lsn,
        lag: behind ? newest.lsn - checkpoint.lsn : 0,
      }
    }),
  )
}

/** The owner while its session lasts: a killed host stays in the lease until another one takes it. */
function liveOwner(
  owner: LeaseGroupSnapshot['leases'][number]['owner'],
  { hosts }: LeaseGroupSnapshot,
): string | undefined {
  const session = hosts.find(({ host }) => host === owner?.host)
  return session?.incarnation === owner?.incarnation ? owner?.host : undefined
}

/** Deletes raise the LSN and are not in the feed: a checkpoint below the newest LSN may be caught up. */
async function hasChanges<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  range: FeedRange,
  from: FeedPosition,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let { continuation }: { continuation: string } = from
  for (;;) {
    const page = await source.readPage({ range, continuation, maxItemCount: 1, signal })
    if (page.changes.length > 0) return true
    if (page.caughtUp) return false
    continuation = page.continuation
  }
}

/** The newest LSN of each range of the source. */
export async function newestPositions<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const ranges = await source.readFeedRanges({ signal })
  const positions = await Promise.all(
    ranges.map(async (range): Promise<[string, number]> => {
      const { lsn } = await source.resolveStart({ range, start: { kind: 'now' }, signal })
      return [feedRangeId(range), lsn]
    }),
  )
  return new Map(positions)
}

const FIRST_POLL_MS = 20
const LAST_POLL_MS = 500

export interface WaitForLagOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Resolves at an instant at which no range had anything to apply: between two equal readings of the
 * source's newest LSNs, every range was found caught up. While others keep writing fast, it may wait
 * for long; stop them first.
 */
export async function waitForZeroLag<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  leases: LeaseGroup,
  { clock, signal }: WaitForLagOptions,
): Promise<ReadonlyMap<string, number>> {
  for (let delayMs = FIRST_POLL_MS; ; delayMs = Math.min(delayMs * 2, LAST_POLL_MS)) {
    const before = await newestPositions(source, signal)
    const lag = await readLag(source, leases, signal)
    if (lag?.every(({ lag: behind }) => behind === 0) === true) {
      const after = await newestPositions(source, signal)
      if (samePositions(before, after)) return after
    }
    await clock.sleep(delayMs, signal)
  }
}

function samePositions(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([range, at]) => b.get(range) === at)
}
