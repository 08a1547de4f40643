import type { FeedRange, LeaseDurability, Lsn, PartitionKey } from '@tidemark/contracts'
import type { LeaseSetDamage } from '../lease-stores/lease-set-damage.ts'

interface LeaseEventBase {
  readonly leaseId: string
  /** The owner's epoch, which the observer got as its fence (LE-11). */
  readonly epoch: number
}

/** A lease that replaced others. */
export interface PlacedLease extends LeaseEventBase {
  readonly range: FeedRange
  /** Its start position. */
  readonly lsn: Lsn
}

/** The events of a host (PH-10), with what their listeners get. */
export interface HostEvents {
  /** Once, at the start: what the lease store keeps after a crash. Only of stores that know it. */
  leaseStoreDurability: LeaseDurability
  /** The session in the group started, also again after it had been fenced. */
  joined: { readonly hostName: string; readonly incarnation: string }
  leaseAcquired: LeaseEventBase & { readonly lsn: Lsn }
  /** Handed over or released, with its last position. */
  leaseReleased: LeaseEventBase & {
    readonly reason: 'leaseHandedOver' | 'shutdown' | 'unplanned' | 'observerStuck' | 'fenced'
  }
  /** Another host may own it, or it was deleted. Another host may repeat its last batch. */
  leaseLost: LeaseEventBase & {
    readonly cause: 'fenced' | 'checkpointRefused' | 'takenOver' | 'stopped'
  }
  /** There is a new plan of which host owns which leases. */
  rebalanced: {
    readonly membershipVersion: number
    readonly hosts: number
    readonly leases: number
    /** Number of leases that this host should own. */
    readonly mine: number
  }
  /** No host can take these leases: all are at their `maxPartitionCount`. Empty = resolved. */
  unownedRanges: { readonly leaseIds: readonly string[] }
  batchRead: LeaseEventBase & { readonly changes: number; readonly lsn: Lsn }
  batchDone: LeaseEventBase & {
    readonly changes: number
    readonly lsn: Lsn
    readonly attempt: number
    readonly durationMs: number
  }
  checkpointed: LeaseEventBase & { readonly lsn: Lsn }
  /**
   * The observer threw. The host retries after `retryInMs`; undefined = it does not. See `failurePolicy`. An AbortError
   * of a call that the host itself aborted is not an event: the lease is lost or moves to another host.
   */
  observerError: LeaseEventBase & {
    readonly phase: 'open' | 'processChanges' | 'resynchronize' | 'close'
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number | undefined
  }
  /** A part of a failing batch is tried separately from now on. `changes` = the number of changes of the part. */
  batchBisected: LeaseEventBase & {
    readonly changes: number
    readonly lsn: Lsn
    readonly error: unknown
  }
  /** A change that kept failing became a dead letter. */
  deadLettered: LeaseEventBase & {
    readonly letterId: string
    readonly id: string
    readonly partitionKey: PartitionKey
    readonly lsn: Lsn
    readonly attempts: number
    readonly error: unknown
  }
  /** A dead letter could not be stored, fetched or settled. The host retries after `retryInMs`, without end. */
  deadLetterFailed: LeaseEventBase & {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** There were `maxConsecutiveDeadLetters` without a success between them: the next change is retried without end. */
  deadLettersSuspended: LeaseEventBase & { readonly consecutive: number; readonly lsn: Lsn }
  /** A dead letter that an operator sent back succeeded. */
  redriven: LeaseEventBase & { readonly letterId: string; readonly lsn: Lsn }
  /** With `haltRange`: the range stops until its lease is released. */
  rangeHalted: LeaseEventBase & {
    readonly range: FeedRange
    readonly lsn: Lsn
    readonly attempts: number
    readonly error: unknown
  }
  /** A call did not return within `maxBatchMs`. It was aborted, and its lease moves to another host. */
  observerStuck: LeaseEventBase & { readonly inFlightMs: number; readonly error: unknown }
  /**
   * A sink refused a write at this epoch (ERR_FENCED_WRITE), because it has seen a newer owner. The observer is
   * closed. If the newer owner exists, `leaseLost` follows. If the lease store has lost it, the lease is released
   * (`leaseReleased`) after the time of a session, or of up to a minute if this repeats, and acquired again at a
   * higher epoch.
   */
  leaseFenced: LeaseEventBase & {
    /** The highest epoch that the sink has seen. */
    readonly currentEpoch: number
    readonly error: unknown
  }
  /**
   * A worker thread of an `observerModule` died. Its calls in flight fail (`observerError`). The host opens new
   * observers for these leases in another thread with their next batch.
   */
  observerThreadEnded: { readonly error: unknown; readonly leaseIds: readonly string[] }
  /** The feed could not be read. The host retries after `retryInMs`, without end. */
  feedError: LeaseEventBase & {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** The pkrange was split or merged away; its observer is closed. `rangeReplaced` follows. */
  rangeGone: LeaseEventBase & { readonly range: FeedRange; readonly error: unknown }
  /** The range was split, and leases of its parts replaced its lease (LE-10). */
  rangeReplaced: LeaseEventBase & { readonly next: readonly PlacedLease[] }
  /** One lease replaced neighbouring leases whose ranges were merged. */
  leasesJoined: PlacedLease & { readonly old: readonly LeaseEventBase[] }
  /**
   * Changes were purged before this group read them (TTL-15). `halt`: the range stops, and the host checks it
   * every 30 s; `resync`: it starts over.
   */
  horizonPassed: LeaseEventBase & {
    readonly range: FeedRange
    /** The position of the group. */
    readonly lsn: Lsn
    readonly horizon: Lsn
    readonly action: 'halt' | 'resync'
    readonly error: unknown
  }
  /** `resynchronize` of the observer succeeded; the range is read again from the beginning. */
  resynchronized: LeaseEventBase & {
    readonly range: FeedRange
    readonly lsn: Lsn
    readonly horizon: Lsn
    readonly untilLsn: Lsn
  }
  /** The host could not report its positions to the feed. It retries; until then, the feed may keep more than needed. */
  positionReportFailed: {
    readonly error: unknown
    /** Number of ranges. */
    readonly positions: number
    readonly attempt: number
  }
  /** The first of a series of failed calls. Work continues until the session's deadline. */
  leaseStoreUnavailable: { readonly operation: string; readonly error: unknown }
  leaseStoreRecovered: { readonly operation: string }
  /** The session can no longer be relied on: all observers are being closed. The host re-joins. */
  fenced: { readonly cause: 'deadlinePassed' | 'sessionGone' }
  /**
   * The lease store has lost its data: it has different data, or no leases of a group whose positions the feed
   * has (then there is no `previousGeneration`). `recover`: observers are being closed; `recovered` or
   * `stopped` follows, after the time of a session at the earliest. `stop`: `stopped` follows.
   */
  leaseStoreLost: {
    readonly previousGeneration: string | undefined
    readonly generation: string
    readonly action: 'recover' | 'stop'
    /** Number of leases whose newest positions this host has. It reports them to the feed at once. */
    readonly known: number
  }
  /**
   * Leases of the group were deleted or overwritten from outside: no lease covers the keys in `missing`, or two cover
   * those in `surplus`. `recover`: observers are being closed, and all leases are created again at the group's
   * positions, as after `leaseStoreLost`, which follows. `stop`: `stopped` follows.
   */
  leasesDamaged: LeaseSetDamage & { readonly action: 'recover' | 'stop' }
  /** The group has leases again, at the positions that the feed had. The host joins again. */
  recovered: {
    readonly generation: string
    /** False: another host created them. */
    readonly byThisHost: boolean
    readonly leases: readonly {
      readonly leaseId: string
      readonly range: FeedRange
      /** The position from which it continues. */
      readonly lsn: Lsn
    }[]
    /** Since the loss was noticed. */
    readonly durationMs: number
  }
  /** Nothing is running any more. With `error`, the host stopped because of it. */
  stopped: { readonly error: unknown }
}

export type HostEventName = keyof HostEvents
export type HostEventListener<Name extends HostEventName> = (event: HostEvents[Name]) => void
