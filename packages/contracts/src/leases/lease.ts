import type { FeedPosition } from '../feed/change-feed-source.ts'
import type { FeedRange } from '../ranges/feed-range.ts'

/**
 * Tries of some changes behind a checkpoint that were begun and not finished: a process that died in the middle
 * counts too.
 */
export interface BatchAttempts {
  readonly count: number
  /** Changes tried together: part of a batch that failed, or 1 for a change alone. 0 = a whole batch of several. */
  readonly size: number
  /**
   * The first of them, by the id of its dead letter: what is behind the checkpoint may be another change by now,
   * as its document was written again or its range was split. Absent = unknown: then the tries count for nothing.
   */
  readonly first?: string | undefined
}

/** Where a group resumes; stores compare only `lsn`, and of equal ones keep the later. */
export interface Checkpoint extends FeedPosition {
  /** Absent = nothing is known to have failed here. */
  readonly attempts?: BatchAttempts | undefined
}

/** A process that works on leases: its name, and which life of that name it is. */
export interface HostIdentity {
  readonly host: string
  /** Random, new with every start: a second process of the same name fences the first. */
  readonly incarnation: string
}

/** What the planner of other hosts must know of a host. */
export interface HostProfile {
  /** Share of leases relative to other hosts. @default 1 */
  readonly weight: number
  readonly minLeases: number
  readonly maxLeases: number
  /** True while the host drains to leave: it keeps what it has not handed over yet, and gets nothing. */
  readonly leaving: boolean
  /** True: gets leases only while every host that is not on standby is at its max, or gone. @default false */
  readonly standby?: boolean | undefined
  /** Leases that this host cannot work on at present: its observer hangs there. @default none */
  readonly refuses?: readonly string[] | undefined
  /** Leases that each pkrange is to have at least. The highest of all hosts that stay counts. @default 1 */
  readonly leasesPerRange?: number | undefined
  /** What other hosts watch it by: see `AnnouncedPresence`. @default its death shows by its silence only */
  readonly presence?: string | undefined
  /** What is shared out evenly: leases, or what they cost. By load only if all hosts that stay say so. Any other text, of a later release, is kept and counts as 'count'. @default 'count' */
  readonly balanceBy?: 'count' | 'load' | undefined
  /** What its leases cost, for the planner of another host; at most 1 KB, without quotes. No change of membership. @default not known */
  readonly load?: string | undefined
}

/** One group's record for one feed range (LE-1). */
export interface Lease {
  /** `min-max` of the range. */
  readonly id: string
  readonly range: FeedRange
  /** Undefined when nobody owns it. */
  readonly owner: HostIdentity | undefined
  /** Raised by every change of owner; part of the concurrency token. 0 before the first owner. */
  readonly epoch: number
  readonly checkpoint: Checkpoint
  /** Host that the current plan gives it to. */
  readonly target: string | undefined
  /** Epoch ms of the later of its last change and its owner's last heartbeat. For people. */
  readonly timestampMs: number
  /** Changes with every change of the lease. */
  readonly etag: string
}

export interface NewLease {
  readonly range: FeedRange
  readonly checkpoint: Checkpoint
  /**
   * Every owner's is higher: that of the last owner, when the store has forgotten it. Counts for `create`
   * only. @default 0
   */
  readonly epoch?: number | undefined
}

/** A host's live session. */
export interface HostSession extends HostIdentity {
  readonly profile: HostProfile
  /** Lease-clock ms at which the session expires. */
  readonly deadlineMs: number
}

/** The feed that a group follows. */
export interface GroupFeed {
  /** `ChangeFeedSource.readRid`. */
  readonly rid: string
  /** `ChangeFeedSource.description`, for people. */
  readonly name: string
}

/** All of a group at one instant. */
export interface LeaseGroupSnapshot {
  /** The store's lease clock, ms: monotone, jumps by at most one heartbeat. */
  readonly clockMs: number
  readonly membershipVersion: number
  /** Membership version that the stored plan was made for. */
  readonly planVersion: number
  /** Identity of the store's data: changes when they were lost. */
  readonly generation: string
  /** True: no host is to own a lease until the group is resumed. */
  readonly paused: boolean
  /** What the group follows. Absent = nobody has said so yet (`LeaseGroup.claimFeed`). */
  readonly feed?: GroupFeed | undefined
  /**
   * True: the group was given leases, nobody discarded them, and none is left: they were deleted or written over from
   * outside. @default false, or not known
   */
  readonly isEmptied?: boolean | undefined
  readonly hosts: readonly HostSession[]
  /** By id. */
  readonly leases: readonly Lease[]
}
