import type { BatchAttempts, FeedRange, Lsn } from '@tidemark/contracts'

/**
 * Why a lag could not be measured whole:
 *
 * - `horizonPassed`: something that the group has not read was purged (TTL-15). Its range stands still, unless its
 *   hosts resynchronise.
 * - `invalidPosition`: the stored position is of another collection, or of a copy that has more.
 * - `rangeGone`: the range was split, and this feed's children do not carry their parent's changes.
 * - `leaseMissing`: somebody deleted the lease, or wrote something else over it.
 */
export type LagProblem = 'horizonPassed' | 'invalidPosition' | 'rangeGone' | 'leaseMissing'

/**
 * - `owned`: a host works on it.
 * - `silent`: a host's session holds it, but nothing was heard of that host for longer than a session lasts. The lease
 *   clock runs only while hosts call, so that the last of a fleet that died stays in its leases. Judged by this
 *   machine's clock against the lease store's, with 10 s for their difference.
 * - `unowned`: no host works on it.
 * - `paused`: none does, and none is to: an operator has paused the group.
 * - `missing`: there is no such lease, and so nobody works on these keys of the group. Its position is the one that the feed
 *   was told, or 0. The group's hosts make all leases anew when they notice; see `hostOptions.onLeaseStoreLoss`.
 */
export type LeaseEstimateState = 'owned' | 'silent' | 'unowned' | 'paused' | 'missing'

/** How far a group is in the range of one lease. */
export interface LeaseEstimate {
  readonly leaseId: string
  readonly range: FeedRange
  readonly state: LeaseEstimateState
  /** The host whose session holds it; undefined when no session does. */
  readonly owner: string | undefined
  readonly epoch: number
  /** Everything up to here is done, as far as the lease store was told. */
  readonly checkpointLsn: Lsn
  /** The feed's newest commit in this range; after a split, that of the part that is farthest. */
  readonly newestLsn: Lsn
  /**
   * Transactions between the two: an upper bound of those that are to be read. It need not be 0 when nothing is:
   * deletes, and documents that were written again, leave numbers without changes.
   */
  readonly lsnDistance: number
  /** Changes that are still to be processed; at least so many if `isExact` is false. */
  readonly remainingChanges: number
  readonly isExact: boolean
  /**
   * Since when the oldest of them waits, ms; 0 when there is none. Undefined when that is not known. Exact to the
   * second, as far as the clocks of this machine and of the feed agree.
   */
  readonly oldestChangeAgeMs: number | undefined
  /** Tries of what begins at the checkpoint that did not succeed, where hosts keep count of them. */
  readonly attempts: BatchAttempts | undefined
  /** Epoch ms of the lease's last change or its owner's last heartbeat, by the lease store's clock. */
  readonly timestampMs: number
  readonly problem: LagProblem | undefined
}

/** How far a processor group is behind its feed. */
export interface FeedEstimate {
  readonly group: string
  /** For people: what is read. */
  readonly feed: string
  /** Wall time at which it was taken, epoch ms. */
  readonly atMs: number
  /** Whether an operator has paused the group. */
  readonly paused: boolean
  /** Hosts of the group whose sessions have not ended. */
  readonly hosts: readonly string[]
  /** In EPK order. Empty when the group has no leases: no host of it ever started, or it was discarded. */
  readonly leases: readonly LeaseEstimate[]
  /** Over all leases. */
  readonly remainingChanges: number
  readonly isExact: boolean
  readonly lsnDistance: number
  /** Of the oldest of all, as in `LeaseEstimate`. */
  readonly oldestChangeAgeMs: number | undefined
  /** Whether there are leases, and nothing is left to do for any of them. */
  readonly caughtUp: boolean
}

/** Adds up what was found of the leases. */
export function totalEstimate(
  leases: readonly LeaseEstimate[],
): Pick<
  FeedEstimate,
  'leases' | 'remainingChanges' | 'isExact' | 'lsnDistance' | 'oldestChangeAgeMs' | 'caughtUp'
> {
  const sum = (of: (lease: LeaseEstimate) => number): number =>
    leases.reduce((total, lease) => total + of(lease), 0)
  const remainingChanges = sum((lease) => lease.remainingChanges)
  const isExact = leases.every((lease) => lease.isExact)
  const ages = leases.map(({ oldestChangeAgeMs }) => oldestChangeAgeMs)
  return {
    leases,
    remainingChanges,
    isExact,
    lsnDistance: sum((lease) => lease.lsnDistance),
    oldestChangeAgeMs: oldestOf(ages),
    caughtUp: leases.length > 0 && remainingChanges === 0 && isExact,
  }
}

/** The highest age that is known; one that is not is none only as long as no other is. */
function oldestOf(ages: readonly (number | undefined)[]): number | undefined {
  const known = ages.filter((age) => age !== undefined)
  const highest = Math.max(0, ...known)
  return highest === 0 && known.length < ages.length ? undefined : highest
}
