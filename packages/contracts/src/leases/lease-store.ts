import type { RequestOptions } from '../documents/document-collection.ts'
import type {
  Checkpoint,
  GroupFeed,
  HostIdentity,
  HostProfile,
  Lease,
  LeaseGroupSnapshot,
  NewLease,
} from './lease.ts'
import type { ChangeFeedSource } from '../feed/change-feed-source.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { HostNote, HostSummary, LeaseTransition } from './host-note.ts'
import type { Presence } from '../presence.ts'

/** Sums over the leases that a host holds, to compare with what the store attributes to it. */
export interface HeldDigest {
  readonly count: number
  /** Sum of `epoch % DIGEST_MODULUS`, modulo DIGEST_MODULUS. */
  readonly epochSum: number
  /** Sum of the last acknowledged `lsn % DIGEST_MODULUS`, modulo DIGEST_MODULUS. */
  readonly lsnSum: number
}

/** Keeps every intermediate value of a digest exact in a double. */
export const DIGEST_MODULUS: number = 2 ** 31

export interface SyncRequest extends HostIdentity {
  /**
   * `join` begins a session, replacing one of the same host name; `beat` renews it; `leave` ends it.
   */
  readonly intent: 'join' | 'beat' | 'leave'
  readonly profile: HostProfile
  /** Session time to live, lease-clock ms. */
  readonly ttlMs: number
  /** One call moves the lease clock by at most this much: one heartbeat. */
  readonly clockCapMs: number
  /** Absent in the first call of a process. It alone moves the lease clock. */
  readonly observed?: ObservedClock | undefined
  /**
   * Other hosts whose processes are certainly dead: their sessions end with this call, if these incarnations still have them.
   * @default none
   */
  readonly gone?: readonly HostIdentity[] | undefined
  /** Sent with every 10th beat; answered by `heldMatches`. */
  readonly held?: HeldDigest | undefined
  /** What the group works on; no two of them touch. With a digest, the answer tells whether the leases cover it. */
  readonly keys?: readonly FeedRange[] | undefined
}

/**
 * What a host last saw of the lease clock, and how long that was ago by a clock of its own that nobody sets: from when the
 * answer had come until this call goes out. So at least that much time has really passed. It counts only while the store has the
 * heartbeat that was answered: the last of this incarnation was at `storeMs`.
 */
export interface ObservedClock {
  /** Of the last answer. */
  readonly clockMs: number
  /** Of the last answer. */
  readonly storeMs: number
  readonly elapsedMs: number
}

/** What a host learns by a heartbeat: that its session counts, or why not. */
export type SyncReply =
  | {
      readonly kind: 'ok'
      readonly clockMs: number
      /** Store time of this call, epoch ms: the next one tells by it whether the store's clock was set meanwhile. */
      readonly storeMs: number
      readonly membershipVersion: number
      readonly planVersion: number
      readonly generation: string
      /** Lease-clock ms until the earliest deadline among the other sessions; undefined if there is none. */
      readonly nextDeadlineInMs: number | undefined
      /**
       * False: call `reconcile`; or the leases do not cover `keys` exactly once, which a `read` shows. True also when no
       * digest was sent.
       */
      readonly heldMatches: boolean
    }
  /** This incarnation has no session: it expired, was replaced, or the store lost its data. */
  | { readonly kind: 'fenced'; readonly generation: string }

/** A whole new plan. */
export interface PlanRequest {
  /** Of the snapshot that it was made for. */
  readonly membershipVersion: number
  /** Lease id to host name. */
  readonly targets: ReadonlyMap<string, string>
  /** True: it replaces a plan that is current, too; the membership version then rises with it. @default false */
  readonly rebalances?: boolean | undefined
}

/** A lease, and the epoch at which the caller believes to hold it. */
export interface HeldLease {
  readonly leaseId: string
  readonly epoch: number
}

/** What an acquire gave: the epoch is the new owner's. */
export interface AcquiredLease extends HeldLease {
  readonly lease: Lease
}

/** A position to store, refused unless the lease is still held at this epoch. */
export interface CheckpointRequest extends HeldLease {
  readonly checkpoint: Checkpoint
}

export interface ReleaseRequest extends HeldLease {
  /** The last position; kept as it is stored when absent or lower. */
  readonly checkpoint?: Checkpoint | undefined
  /** The next owner's epoch is above this one, too: a sink has seen it. @default the lease's own */
  readonly aboveEpoch?: number | undefined
}

/** `regress` = the stored LSN is higher; `lost` = (epoch, host, incarnation) is not the owner's. */
export type CheckpointOutcome = 'stored' | 'lost' | 'regress'

export interface ReconcileReply {
  /** The store attributes them to this incarnation; the host does not hold them at that epoch. */
  readonly unknownToHost: readonly Lease[]
  /** The host holds them; the store says otherwise. */
  readonly lost: readonly string[]
  /** Held at the right epoch; the stored checkpoint is below the one given. */
  readonly behind: readonly string[]
}

export interface ClaimFeedOptions extends RequestOptions {
  /** `_rid` of the feed that this one takes the place of. @default none: what is noted stays */
  readonly insteadOf?: string | undefined
}

/** What `declareLost` is asked for. */
export interface LeaseLoss {
  /** What the group works on. No two of them touch: see `joinedRanges`. */
  readonly keys: readonly FeedRange[]
  /** Of the data from then on: one that there was not before. */
  readonly generation: string
}

/** A hint that something changed. At most once, may be lost; heartbeats are the fallback. */
export type LeaseHint = 'membership' | 'plan' | 'released'

/**
 * The leases of one processor group. Every operation is atomic and may be repeated; a transport
 * failure rejects with ERR_LEASE_STORE_UNAVAILABLE and leaves the outcome unknown.
 *
 * Fencing is by equality of (epoch, host, incarnation); epochs are `max(old + 1, store time in µs)`,
 * also across `discard`. See docs/spec/lease-protocol.md.
 */
export interface LeaseGroup {
  readonly group: string

  /**
   * Joins, renews or leaves, and drops sessions that expired or whose process is gone. One round trip whatever the number of
   * leases (LE-13).
   */
  sync(request: SyncRequest, signal?: AbortSignal): Promise<SyncReply>
  /**
   * Stores the whole set iff the group has no leases; otherwise changes nothing. Either way returns
   * the set that the store now has: losers adopt it. A lease that comes with an epoch keeps it as that of a
   * past owner.
   */
  create(leases: readonly NewLease[], signal?: AbortSignal): Promise<readonly Lease[]>
  read(signal?: AbortSignal): Promise<LeaseGroupSnapshot>
  /**
   * Notes which feed the group follows iff nobody has yet, or the one that is noted has the `_rid` of `insteadOf`. Returns
   * the one that is noted then. Where it replaces one the membership version rises and a hint goes out, so that the hosts
   * of the other feed notice. `discard` forgets it. Absent where it is not kept.
   */
  claimFeed?(feed: GroupFeed, options?: ClaimFeedOptions): Promise<GroupFeed>
  /**
   * Replaces the targets iff `membershipVersion` is current and the stored plan is older, or the request `rebalances`. Leases
   * that are not named then have no target. Returns false if another host was first.
   */
  plan(request: PlanRequest, signal?: AbortSignal): Promise<boolean>
  /**
   * Takes those of the leases whose target is this host, and that are free, or whose owner's session is gone,
   * or that an earlier incarnation of this host owned. Re-acquiring a lease that this incarnation owns returns it
   * with its present epoch. The answer leaves out the others. A caller without a session gets an empty answer,
   * not an error.
   */
  acquire(
    request: HostIdentity & { readonly leaseIds: readonly string[] },
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[]>
  /**
   * One outcome per request, in order. What is `stored` is visible to every host; a store may lose it with its machine
   * until `flush` has resolved, except for tries (`attempts`).
   */
  checkpoint(
    request: HostIdentity & { readonly checkpoints: readonly CheckpointRequest[] },
    signal?: AbortSignal,
  ): Promise<readonly CheckpointOutcome[]>
  /** Resolves when every checkpoint that was stored before the call is on disk. Absent where each is at once. */
  flush?(signal?: AbortSignal): Promise<void>
  /** Frees leases, each with its last checkpoint in the same step. One outcome per request, in order. */
  release(
    request: HostIdentity & { readonly releases: readonly ReleaseRequest[] },
    signal?: AbortSignal,
  ): Promise<readonly ('released' | 'lost')[]>
  /**
   * Replaces leases that this incarnation owns by others, in one step (LE-10): all or nothing. `next`
   * covers the same keys as `old`. The caller owns the new leases at once, each with an epoch above all
   * epochs of the old ones; they keep the target if all the old ones had the same. The membership version
   * rises and a hint goes out, so that the next plan shares them out.
   *
   * A new lease that lies within one old one never begins below what is stored for that one: it takes
   * the higher position of the two. One that joins several begins where `next` says. A lease that is
   * replaced by itself alone begins where `next` says too, also lower: the one way for an owner to go
   * back (`onHorizonPassed: 'resync'`). What goes back is delivered again; nothing is ever skipped by it.
   *
   * `lost` when the caller does not own one of `old` at that epoch; nothing has changed then. Repeated
   * after it was done by this incarnation, it returns the new leases as they are. Looks at no session,
   * as `checkpoint`: authority is (epoch, host, incarnation).
   *
   * Rejects with ERR_INVALID_OPTION when `next` does not cover exactly the keys of `old`, or when they are
   * more than `REPLACE_LIMIT` leases together.
   */
  replace(
    request: HostIdentity & {
      readonly old: readonly HeldLease[]
      readonly next: readonly NewLease[]
    },
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[] | 'lost'>
  /**
   * For operators: replaces `old` by `next` in one step, all or nothing, no matter which host owns them.
   * `next` covers the same keys as `old` and begins exactly where it says, also lower. No host owns the new
   * leases, and no plan names them; their epochs are above all epochs of the old ones, so that the hosts that
   * worked on them are refused from now on. The membership version rises and a hint goes out.
   *
   * `changed` when one of `old` is not there at that epoch any more; nothing has changed then: read again.
   *
   * Rejects with ERR_INVALID_OPTION as `replace` does.
   */
  override(
    request: { readonly old: readonly HeldLease[]; readonly next: readonly NewLease[] },
    signal?: AbortSignal,
  ): Promise<readonly Lease[] | 'changed'>
  /**
   * Pauses or resumes the group: while it is paused every plan is stored without targets, so that hosts
   * drain, release and stay. The membership version rises and a hint goes out. Returns false, and changes
   * nothing, if the group is in that state already.
   */
  setPaused(paused: boolean, signal?: AbortSignal): Promise<boolean>
  /** Compares all leases that the host holds, with their last acknowledged LSNs, with those in the store. */
  reconcile(
    request: HostIdentity & {
      readonly held: readonly (HeldLease & { readonly lsn: number })[]
    },
    signal?: AbortSignal,
  ): Promise<ReconcileReply>
  /**
   * Deletes the group's leases and plan, and forgets which feed it follows, unless this token was the last one used
   * (LE-8). Epochs given later are above all earlier ones. Returns whether it discarded.
   */
  discard(token: string, signal?: AbortSignal): Promise<boolean>
  /**
   * Declares the leases lost iff there are some and they do not cover `keys` exactly once: one was deleted or overwritten
   * from outside. Deletes the rest and the plan, and begins a new generation, so that every host notices; sessions, pause
   * and discard token stay. Epochs given later are above all that were read. Returns whether it did that: false, with
   * nothing changed, if the set is whole or another caller was first.
   */
  declareLost(request: LeaseLoss, signal?: AbortSignal): Promise<boolean>
  /**
   * Keeps what a host tells of its work. No rule depends on it, and any of it may be lost. Absent where none is kept, as the
   * two that read it.
   */
  note?(note: HostNote, signal?: AbortSignal): Promise<void>
  /** The last of each host: of about 256 that told something. */
  readSummaries?(signal?: AbortSignal): Promise<readonly HostSummary[]>
  /** About the last `TRANSITIONS_KEPT`, oldest first. */
  readTransitions?(signal?: AbortSignal): Promise<readonly LeaseTransition[]>
  /** Calls back on hints until the returned function is called. */
  subscribe(listener: (hint: LeaseHint) => void): () => void
  /** Stops what this handle started. Does not touch the leases. */
  close(): Promise<void>
}

/**
 * How much of what it acknowledged a lease store keeps through a crash of its own:
 *
 * - `A`: everything: each write is on disk before it is acknowledged, and no replica that lags may take over.
 * - `B`: everything, as long as a replica that is up to date takes over, bounded by a declared lag else.
 * - `C`: all but the last: about a second, or what the findings say, as since the last snapshot.
 * - `D`: nothing: it keeps its data in memory only, or may delete leases when it is full.
 */
export type DurabilityLevel = 'A' | 'B' | 'C' | 'D'

export interface LeaseDurability {
  readonly level: DurabilityLevel
  /** What it was judged by, for people: one finding a line. */
  readonly findings: readonly string[]
  /** Of the findings, those by which minutes may be lost, without a bound. What is lost is repeated. @default none */
  readonly unbounded?: readonly string[] | undefined
}

export interface OpenGroupOptions extends RequestOptions {
  /** The feed that the group works on, for stores that write ids of its pkranges for other programs. @default not known */
  readonly feed?: Pick<ChangeFeedSource, 'readFeedRanges'> | undefined
  /**
   * True: the group takes the place of a stopped .NET or Java processor, and may have its leases beside that one's.
   * @default false: a new group beside one is refused with ERR_LEASE_STORAGE
   */
  readonly replacesV3?: boolean | undefined
}

/** Where leases are kept (LE-2). */
export interface LeaseStore {
  /** For people and error messages. */
  readonly description: string
  /**
   * Identity of the collection that holds the leases, if they are documents: a host refuses a store
   * that is the monitored collection itself.
   */
  readonly collectionIdentity?: string | undefined
  /**
   * True: leases are kept in this process on purpose, and gone with it. A group without leases is a new one
   * then, whatever its feed remembers of an earlier process. @default false
   */
  readonly endsWithProcess?: boolean | undefined
  /** How hosts that keep leases here on one machine know of each other's death. @default by the end of sessions only */
  readonly presence?: Presence | undefined
  /**
   * Creates what storage is missing, idempotently by many hosts (LE-14).
   *
   * Rejects with ERR_LEASE_STORAGE when that is not permitted or the storage cannot hold leases,
   * with ERR_LEASE_STORE_UNAVAILABLE when it cannot be reached.
   */
  openGroup(group: string, options?: OpenGroupOptions): Promise<LeaseGroup>
  /**
   * Looks how durable the store is at present. Absent where there is nothing to tell.
   *
   * Rejects with ERR_LEASE_STORE_UNAVAILABLE when it cannot be reached.
   */
  readDurability?(options?: RequestOptions): Promise<LeaseDurability>
  /** Names of the groups that have leases. */
  listGroups(options?: RequestOptions): Promise<readonly string[]>
}
