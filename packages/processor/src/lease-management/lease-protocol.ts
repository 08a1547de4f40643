import type {
  AcquiredLease,
  Checkpoint,
  CheckpointOutcome,
  CheckpointRequest,
  CloseReason,
  FeedRange,
  GroupFeed,
  HeldLease,
  HostIdentity,
  HostProfile,
  Lease,
  LeaseGroupSnapshot,
  LeaseHint,
  Lsn,
  NewLease,
  PlanRequest,
  ReconcileReply,
  ReleaseRequest,
  SyncReply,
  SyncRequest,
} from '@tidemark/contracts'
import type { LeaseSetDamage } from '../lease-stores/lease-set-damage.ts'
import type { WatchedPeer } from './watched-peers.ts'

/*
 * What goes into the lease protocol's core and what comes out of it. See docs/spec/lease-protocol.md.
 */

/** Settings of one host's core. All durations in ms. */
export interface LeaseCoreOptions {
  readonly host: string
  /** Random, new with every start of a process up to the first dot. Each re-join adds a number to it. */
  readonly incarnation: string
  readonly profile: Omit<HostProfile, 'leaving' | 'refuses' | 'load'>
  /** HB: interval of heartbeats. */
  readonly heartbeatMs: number
  /** TTL: session time to live. */
  readonly ttlMs: number
  /** Longest wait before leases that could not be had are tried again. */
  readonly acquireRetryMs: number
  readonly handoffTimeoutMs: number
  readonly shutdownTimeoutMs: number
  /** For how long a lease is refused whose observer hangs here. */
  readonly refusalMs: number
  /** Of the store's data that the group was found in: an answer out of other data means that it is lost. */
  readonly generation?: string | undefined
  /** What the group follows. @default not known, and not watched */
  readonly followed?: { readonly group: string; readonly feed: GroupFeed } | undefined
  /** What the group works on, as of `SyncRequest`: leases that do not cover it exactly once are damaged. @default not known */
  readonly keys?: readonly FeedRange[] | undefined
}

/** One operation on the lease group, with its arguments. */
export type LeaseCall =
  | { readonly op: 'sync'; readonly request: SyncRequest }
  | { readonly op: 'read' }
  | {
      readonly op: 'plan'
      readonly request: PlanRequest
    }
  | {
      readonly op: 'acquire'
      readonly request: HostIdentity & { readonly leaseIds: readonly string[] }
    }
  | {
      readonly op: 'checkpoint'
      readonly request: HostIdentity & { readonly checkpoints: readonly CheckpointRequest[] }
    }
  | {
      readonly op: 'release'
      readonly request: HostIdentity & { readonly releases: readonly ReleaseRequest[] }
    }
  | {
      readonly op: 'replace'
      readonly request: HostIdentity & {
        readonly old: readonly HeldLease[]
        readonly next: readonly NewLease[]
      }
    }
  | {
      readonly op: 'reconcile'
      readonly request: HostIdentity & {
        readonly held: readonly (HeldLease & { readonly lsn: number })[]
      }
    }

export type LeaseOp = LeaseCall['op']

/** The answer to a call. */
export type LeaseReply =
  | { readonly op: 'sync'; readonly reply: SyncReply }
  | { readonly op: 'read'; readonly reply: LeaseGroupSnapshot }
  | { readonly op: 'plan'; readonly reply: boolean }
  | { readonly op: 'acquire'; readonly reply: readonly AcquiredLease[] }
  | { readonly op: 'checkpoint'; readonly reply: readonly CheckpointOutcome[] }
  | { readonly op: 'release'; readonly reply: readonly ('released' | 'lost')[] }
  | { readonly op: 'replace'; readonly reply: readonly AcquiredLease[] | 'lost' }
  | { readonly op: 'reconcile'; readonly reply: ReconcileReply }

/**
 * Why leases are replaced: the range was split, its pkrange is to have more leases, neighbours of one pkrange become one, one
 * starts over.
 */
export type ReplaceCause = 'split' | 'cut' | 'join' | 'restart'

/** What replaces a lease whose pump has closed. */
export type PumpReplacement =
  | { readonly cause: 'split' | 'cut'; readonly ranges: readonly FeedRange[] }
  | { readonly cause: 'restart'; readonly checkpoint: Checkpoint }

/** What a core is told. `jitter` is a random number in [0, 1). */
export type LeaseEvent =
  | { readonly kind: 'start' }
  /** The time asked for by `wakeAt` has come. */
  | { readonly kind: 'tick' }
  | {
      readonly kind: 'replied'
      readonly callId: number
      readonly answer: LeaseReply
      readonly jitter: number
    }
  /** No answer, or an error: whether the operation happened is unknown. */
  | {
      readonly kind: 'failed'
      readonly callId: number
      readonly error: unknown
      readonly jitter: number
    }
  | { readonly kind: 'hint'; readonly hint: LeaseHint; readonly jitter: number }
  /** A host that `watch` named is certainly dead. */
  | { readonly kind: 'gone'; readonly peer: HostIdentity }
  /** Wall time ran ahead of monotonic time: the machine may have slept. */
  | { readonly kind: 'clockJumped' }
  /** A pump asks that its position be stored. */
  | { readonly kind: 'progress'; readonly held: HeldLease; readonly checkpoint: Checkpoint }
  /** A sink refused a write of this lease, and named the epoch of a newer owner. */
  | { readonly kind: 'sinkHasSeen'; readonly held: HeldLease; readonly epoch: number }
  /**
   * A pump has closed its observer and does nothing more. `checkpoint` = the last position to be
   * stored; undefined to keep what is stored.
   */
  | {
      readonly kind: 'pumpClosed'
      readonly held: HeldLease
      readonly checkpoint: Checkpoint | undefined
      readonly reason: CloseReason
      readonly replacement: PumpReplacement | undefined
    }
  /**
   * Neighbouring leases are to become one (decision 0023). Their pumps must be idle exactly at the
   * position of `next`.
   */
  | { readonly kind: 'join'; readonly held: readonly HeldLease[]; readonly next: NewLease }
  /** A lease is to be cut into parts: the pkrange is to have more leases. */
  | { readonly kind: 'cut'; readonly held: HeldLease; readonly parts: readonly FeedRange[] }
  /** Drain, release, leave. */
  | { readonly kind: 'leave' }

/** What a core wants done. */
export type LeaseEffect =
  | { readonly kind: 'call'; readonly callId: number; readonly call: LeaseCall }
  /** Send `tick` then; replaces the time asked for before. */
  | { readonly kind: 'wakeAt'; readonly atMs: number }
  | {
      readonly kind: 'startPump'
      readonly held: HeldLease
      readonly lease: Lease
      readonly generation: string
    }
  /** Finish the batch in flight, close the observer, tell the position. */
  | { readonly kind: 'drainPump'; readonly held: HeldLease; readonly reason: CloseReason }
  /** Abort the batch in flight, close the observer once it settled or its grace is over. */
  | { readonly kind: 'abortPump'; readonly held: HeldLease; readonly reason: CloseReason }
  /** A position that `progress` asked for, or a later one, is stored. */
  | { readonly kind: 'checkpointed'; readonly held: HeldLease; readonly checkpoint: Checkpoint }
  | { readonly kind: 'emit'; readonly notice: LeaseNotice }
  /** Watch these hosts for their death, and no others. Only of a host that has a presence itself. */
  | { readonly kind: 'watch'; readonly peers: readonly WatchedPeer[] }
  /** The last effect: no pump is open, nothing will be called. */
  | { readonly kind: 'stopped'; readonly error: Error | undefined }

export type ReleaseReason =
  | 'leaseHandedOver'
  | 'shutdown'
  | 'unplanned'
  | 'observerStuck'
  | 'fenced'

export type LostCause = 'fenced' | 'checkpointRefused' | 'takenOver' | 'stopped'

/** What people want to know. */
export type LeaseNotice =
  | { readonly kind: 'joined'; readonly incarnation: string }
  | {
      readonly kind: 'acquired'
      readonly held: HeldLease
      readonly range: FeedRange
      readonly checkpoint: Checkpoint
    }
  | {
      readonly kind: 'released'
      readonly held: HeldLease
      readonly reason: ReleaseReason
    }
  | { readonly kind: 'lost'; readonly held: HeldLease; readonly cause: LostCause }
  /** The position that the store has now, also if another one came meanwhile. */
  | {
      readonly kind: 'stored'
      readonly held: HeldLease
      readonly range: FeedRange
      readonly lsn: Lsn
    }
  | {
      readonly kind: 'replaced'
      readonly cause: ReplaceCause
      readonly old: readonly HeldLease[]
      readonly next: readonly Lease[]
    }
  | {
      readonly kind: 'rebalanced'
      readonly membershipVersion: number
      readonly hosts: number
      readonly leases: number
      readonly mine: number
    }
  | { readonly kind: 'unowned'; readonly leaseIds: readonly string[] }
  | { readonly kind: 'fenced'; readonly cause: 'deadlinePassed' | 'sessionGone' }
  /** Somebody deleted a lease, or wrote something else over one; the host ends. */
  | {
      readonly kind: 'setDamaged'
      readonly generation: string
      readonly damage: LeaseSetDamage
      /** As of `storeLost`. */
      readonly stood: readonly { readonly range: FeedRange; readonly lsn: Lsn }[]
    }
  /** The store has other data than before; the host ends. */
  | {
      readonly kind: 'storeLost'
      readonly known: string
      readonly generation: string
      /**
       * The stored positions of the leases that nobody else can have owned until now. A later one counts
       * where two have keys in common.
       */
      readonly stood: readonly { readonly range: FeedRange; readonly lsn: Lsn }[]
    }
  | { readonly kind: 'storeUnavailable'; readonly op: LeaseOp; readonly error: unknown }
  | { readonly kind: 'storeRecovered'; readonly op: LeaseOp }

/** Where effects are collected while an event is handled. */
export interface EffectSink {
  push(effect: LeaseEffect): void
}
