import {
  commonKeys,
  errorCode,
  feedRangeId,
  parseFeedRangeId,
  rangesOverlap,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type FeedMode,
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

/** A group of leases, with what its hosts read of the feed. */
export interface WatchedGroup {
  readonly leases: LeaseGroup
  /** Whether the hosts get pending deletes; else those keep nobody behind. */
  readonly pendingDeletes: boolean
  readonly mode: FeedMode
}

/**
 * How far a group is behind its feed, range by range. Any process may ask: the answer comes from the
 * group's leases and the feed alone. Undefined before the first host has made the leases.
 */
export async function readLag<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  group: WatchedGroup,
  signal?: AbortSignal,
): Promise<readonly RangeLag[] | undefined> {
  return whileRangesChange(async () => {
    const snapshot = await group.leases.read(signal)
    if (snapshot.leases.length === 0) return undefined
    const present = await source.readFeedRanges({ signal })
    return Promise.all(
      snapshot.leases.map(async (lease): Promise<RangeLag> => {
        const { id, range, checkpoint, epoch } = lease
        // A lease may still span what was split meanwhile; its position is valid in each part.
        const parts = await Promise.all(
          present
            .flatMap((other) => commonKeys(other, range) ?? [])
            .map((part) => readPart(source, { ...group, range: part, from: checkpoint, signal })),
        )
        const newestLsn = Math.max(0, ...parts.map(({ newest }) => newest))
        return {
          leaseId: id,
          range,
          owner: liveOwner(lease.owner, snapshot),
          epoch,
          checkpointLsn: checkpoint.lsn,
          newestLsn,
          lag: Math.max(0, ...parts.map(({ behind }) => behind)),
        }
      }),
    )
  })
}

interface PartOfLease extends WatchedGroup {
  readonly range: FeedRange
  readonly from: FeedPosition
  readonly signal: AbortSignal | undefined
}

/** One present range, or the part of it that a lease covers. */
async function readPart<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  part: PartOfLease,
): Promise<{ readonly newest: number; readonly behind: number }> {
  const { range, from, mode, signal } = part
  const { lsn: newest } = await source.resolveStart({ range, start: { kind: 'now' }, mode, signal })
  const behind = newest > from.lsn && (await hasChanges(source, part))
  return { newest, behind: behind ? newest - from.lsn : 0 }
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
  { range, from, pendingDeletes, mode, signal }: PartOfLease,
): Promise<boolean> {
  let { continuation }: { continuation: string } = from
  try {
    for (;;) {
      const request = { range, continuation, maxItemCount: 1, pendingDeletes, mode, signal }
      const page = await source.readPage(request)
      if (page.changes.length > 0) return true
      if (page.caughtUp) return false
      continuation = page.continuation
    }
  } catch (error) {
    // What it has not seen was purged: it is behind, and begins anew.
    if (errorCode(error) === 'ERR_HORIZON_PASSED') return true
    throw error
  }
}

/** The newest LSN of each range of the source. */
export async function newestPositions<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  return whileRangesChange(async () => {
    const ranges = await source.readFeedRanges({ signal })
    const positions = await Promise.all(
      ranges.map(async (range): Promise<[string, number]> => {
        const { lsn } = await source.resolveStart({ range, start: { kind: 'now' }, signal })
        return [feedRangeId(range), lsn]
      }),
    )
    return new Map(positions)
  })
}

/** Splits and merges are rare, so that more than a few of them during one reading are a defect. */
const MAX_READINGS = 10

/** Reads again when a range was split or merged between two steps of the reading. */
async function whileRangesChange<Value>(read: () => Promise<Value>): Promise<Value> {
  for (let reading = 1; ; reading += 1) {
    try {
      return await read()
    } catch (error) {
      if (errorCode(error) !== 'ERR_RANGE_GONE' || reading >= MAX_READINGS) throw error
    }
  }
}

const POLL_MS = 50

/** Resolves when all groups have done everything that was committed to the source before the call. */
export async function waitUntilReached<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  groups: readonly WatchedGroup[],
  { clock, signal }: WaitForLagOptions,
): Promise<void> {
  const wanted = [...(await newestPositions(source, signal))].flatMap(([id, newest]) => {
    const range = parseFeedRangeId(id)
    return range === undefined ? [] : [{ range, newest }]
  })
  const hasReached = async (group: WatchedGroup): Promise<boolean> => {
    const lag = await readLag(source, group, signal)
    const reached = lag?.every((own) => {
      const goals = wanted.filter(({ range }) => rangesOverlap(range, own.range))
      return own.lag === 0 || goals.every(({ newest }) => own.checkpointLsn >= newest)
    })
    return reached === true
  }
  for (const group of groups) {
    while (!(await hasReached(group))) await clock.sleep(POLL_MS, signal)
  }
}

const FIRST_POLL_MS = 20
const LAST_POLL_MS = 500

export interface WaitForLagOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Resolves at an instant at which no range had anything to apply: between two equal readings of the
 * source's newest LSNs, every range of every group was found caught up. While others keep writing fast, it may wait
 * for long; stop them first.
 */
export async function waitForZeroLag<S extends DocumentBody>(
  source: ChangeFeedSource<S>,
  groups: readonly WatchedGroup[],
  { clock, signal }: WaitForLagOptions,
): Promise<ReadonlyMap<string, number>> {
  for (let delayMs = FIRST_POLL_MS; ; delayMs = Math.min(delayMs * 2, LAST_POLL_MS)) {
    const before = await newestPositions(source, signal)
    const lags = await Promise.all(groups.map((group) => readLag(source, group, signal)))
    if (lags.every((lag) => lag?.every(({ lag: behind }) => behind === 0) === true)) {
      const after = await newestPositions(source, signal)
      if (samePositions(before, after)) return after
    }
    await clock.sleep(delayMs, signal)
  }
}

function samePositions(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([range, at]) => b.get(range) === at)
}
