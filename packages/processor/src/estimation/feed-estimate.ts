import type { BatchAttempts, FeedRange, Lsn } from '@tidemark/contracts'

/**
 * Why a lag could not be measured completely:
 *
 * - `horizonPassed`: changes were purged before the group read them (TTL-15). The range has stopped, unless its hosts
 *   resynchronise.
 * - `invalidPosition`: the stored position belongs to another collection, or to a copy that has more.
 * - `rangeGone`: the range was split, and this feed's children do not carry their parent's changes.
 * - `leaseMissing`: the lease was deleted or overwritten from outside.
 */
export type LagProblem = 'horizonPassed' | 'invalidPosition' | 'rangeGone' | 'leaseMissing'

/**
 * - `owned`: a host processes it.
 * - `silent`: a session holds it, but its host has not sent a heartbeat for longer than a session lasts. The lease
 *   clock only runs while hosts call, so when a whole fleet has died, its last host stays the owner. This compares
 *   this machine's clock with the lease store's, and allows a difference of 10 s.
 * - `unowned`: no host processes it.
 * - `paused`: no host processes it, because an operator has paused the group.
 * - `missing`: there is no such lease, so no host processes these keys of the group. Its position is the one that was
 *   reported to the feed, or 0. The group's hosts create all leases again when they notice; see
 *   `hostOptions.onLeaseStoreLoss`.
 */
export type LeaseEstimateState = 'owned' | 'silent' | 'unowned' | 'paused' | 'missing'

/** The lag of a group in the range of one lease. */
export interface LeaseEstimate {
  readonly leaseId: string
  readonly range: FeedRange
  readonly state: LeaseEstimateState
  /** The host whose session holds it; undefined when no session does. */
  readonly owner: string | undefined
  readonly epoch: number
  /** Everything up to here is processed and stored. */
  readonly checkpointLsn: Lsn
  /** The feed's newest commit in this range; after a split, the newest of its parts. */
  readonly newestLsn: Lsn
  /**
   * LSNs between the two: an upper bound of the remaining transactions. It can be above 0 when nothing is left:
   * deletes, and documents that were written again, leave LSNs without changes.
   */
  readonly lsnDistance: number
  /** Number of remaining changes; if `isExact` is false, there are at least this many. */
  readonly remainingChanges: number
  readonly isExact: boolean
  /**
   * How long the oldest of them has been waiting, ms; 0 when there is none, undefined when that is not known. Its
   * precision is one second, and depends on how well the clocks of this machine and of the feed agree.
   */
  readonly oldestChangeAgeMs: number | undefined
  /** Failed attempts at the changes after the checkpoint, if hosts count them. */
  readonly attempts: BatchAttempts | undefined
  /** Epoch ms of the lease's last change or its owner's last heartbeat, by the lease store's clock. */
  readonly timestampMs: number
  readonly problem: LagProblem | undefined
}

/** The lag of a processor group behind its feed. */
export interface FeedEstimate {
  readonly group: string
  /** For people: the name of the feed. */
  readonly feed: string
  /** Wall time of the estimate, epoch ms. */
  readonly atMs: number
  /** Whether an operator has paused the group. */
  readonly paused: boolean
  /** Number of hosts of the group whose sessions have not expired. */
  readonly hosts: readonly string[]
  /** In EPK order. Empty when the group has no leases: no host of it has ever started, or the leases were discarded. */
  readonly leases: readonly LeaseEstimate[]
  /** Over all leases. */
  readonly remainingChanges: number
  readonly isExact: boolean
  readonly lsnDistance: number
  /** Of the oldest of all, as in `LeaseEstimate`. */
  readonly oldestChangeAgeMs: number | undefined
  /** Whether there are leases, and none of them has anything left. */
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
