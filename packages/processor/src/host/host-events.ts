import type { FeedRange, LeaseDurability, Lsn, PartitionKey } from '@tidemark/contracts'
import type { LeaseSetDamage } from '../lease-stores/lease-set-damage.ts'

interface LeaseEventBase {
  readonly leaseId: string
  /** The owner's epoch, which the observer got as its fence (LE-11). */
  readonly epoch: number
}

/** A lease that came in the place of others. */
export interface PlacedLease extends LeaseEventBase {
  readonly range: FeedRange
  /** Where it begins. */
  readonly lsn: Lsn
}

/** What a host tells about itself (PH-10): one entry an event, with what its listeners get. */
export interface HostEvents {
  /** Once, at the start: what the lease store keeps through a crash. Not of a store that has nothing to tell. */
  leaseStoreDurability: LeaseDurability
  /** The session in the group began, or began anew after it had been fenced. */
  joined: { readonly hostName: string; readonly incarnation: string }
  leaseAcquired: LeaseEventBase & { readonly lsn: Lsn }
  /** Handed over or given back, with its last position. */
  leaseReleased: LeaseEventBase & {
    readonly reason: 'leaseHandedOver' | 'shutdown' | 'unplanned' | 'observerStuck' | 'fenced'
  }
  /** Another host may own it, or it was deleted. Its last batch may be processed again elsewhere. */
  leaseLost: LeaseEventBase & {
    readonly cause: 'fenced' | 'checkpointRefused' | 'takenOver' | 'stopped'
  }
  /** A new plan of who owns what is in force. */
  rebalanced: {
    readonly membershipVersion: number
    readonly hosts: number
    readonly leases: number
    /** Leases that this host is to own. */
    readonly mine: number
  }
  /** No host may take these: every one is at its `maxPartitionCount`. Empty = resolved. */
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
   * The observer threw. What failed is tried again after `retryInMs`; undefined = it is not. See `failurePolicy`. An
   * AbortError of a call that the host itself aborted is not told: the lease is lost or goes to another host.
   */
  observerError: LeaseEventBase & {
    readonly phase: 'open' | 'processChanges' | 'resynchronize' | 'close'
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number | undefined
  }
  /** A part of a batch that failed is tried by itself from now on. `changes` = how many the part had. */
  batchBisected: LeaseEventBase & {
    readonly changes: number
    readonly lsn: Lsn
    readonly error: unknown
  }
  /** A change that failed again and again was taken out of the way, and is kept as a dead letter. */
  deadLettered: LeaseEventBase & {
    readonly letterId: string
    readonly id: string
    readonly partitionKey: PartitionKey
    readonly lsn: Lsn
    readonly attempts: number
    readonly error: unknown
  }
  /** A dead letter could not be kept, fetched or settled. Tried again after `retryInMs`, for ever. */
  deadLetterFailed: LeaseEventBase & {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** `maxConsecutiveDeadLetters` without a success between them: the next change is tried for ever. */
  deadLettersSuspended: LeaseEventBase & { readonly consecutive: number; readonly lsn: Lsn }
  /** A dead letter that an operator sent back was accepted. */
  redriven: LeaseEventBase & { readonly letterId: string; readonly lsn: Lsn }
  /** With `haltRange`: nothing of this range is tried any more until its lease is released. */
  rangeHalted: LeaseEventBase & {
    readonly range: FeedRange
    readonly lsn: Lsn
    readonly attempts: number
    readonly error: unknown
  }
  /** A call did not return within `maxBatchMs`. It was aborted, and its lease goes to another host. */
  observerStuck: LeaseEventBase & { readonly inFlightMs: number; readonly error: unknown }
  /**
   * A sink refused what was written at this epoch (ERR_FENCED_WRITE), because it knows a newer owner. The observer is
   * closed. If there is one, `leaseLost` follows; else the lease store has forgotten it, and the lease is given back
   * after the time of a session or, when that happens again and again, of up to a minute (`leaseReleased`), and got at an epoch
   * above all.
   */
  leaseFenced: LeaseEventBase & {
    /** The highest that the sink has seen. */
    readonly currentEpoch: number
    readonly error: unknown
  }
  /**
   * A worker thread of an `observerModule` ended by itself. Calls in flight fail (`observerError`); the observers of
   * these leases are opened anew in another thread when their next batch comes.
   */
  observerThreadEnded: { readonly error: unknown; readonly leaseIds: readonly string[] }
  /** The feed could not be read. Tried again after `retryInMs`, for ever. */
  feedError: LeaseEventBase & {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** The pkrange was split or merged away; its observer is closed. `rangeReplaced` follows. */
  rangeGone: LeaseEventBase & { readonly range: FeedRange; readonly error: unknown }
  /** Leases of the parts of a range that was split came in the place of its lease (LE-10). */
  rangeReplaced: LeaseEventBase & { readonly next: readonly PlacedLease[] }
  /** One lease came in the place of neighbouring ones whose ranges were merged. */
  leasesJoined: PlacedLease & { readonly old: readonly LeaseEventBase[] }
  /**
   * Something was purged that this group had not read (TTL-15). `halt`: the range stands still, and is
   * looked at again every 30 s; `resync`: it begins anew.
   */
  horizonPassed: LeaseEventBase & {
    readonly range: FeedRange
    /** Where the group stands. */
    readonly lsn: Lsn
    readonly horizon: Lsn
    readonly action: 'halt' | 'resync'
    readonly error: unknown
  }
  /** The observer has accepted `resynchronize`; the range is read again from the beginning. */
  resynchronized: LeaseEventBase & {
    readonly range: FeedRange
    readonly lsn: Lsn
    readonly horizon: Lsn
    readonly untilLsn: Lsn
  }
  /** The feed was not told how far this host has come. Repeated; until then it may keep more than it need. */
  positionReportFailed: {
    readonly error: unknown
    /** Ranges concerned. */
    readonly positions: number
    readonly attempt: number
  }
  /** The first of a series of failed calls. Work goes on until the session's deadline. */
  leaseStoreUnavailable: { readonly operation: string; readonly error: unknown }
  leaseStoreRecovered: { readonly operation: string }
  /** The session can no longer be relied on: all observers are being closed. The host re-joins. */
  fenced: { readonly cause: 'deadlinePassed' | 'sessionGone' }
  /**
   * The lease store has lost its data: it has others than before, or none of a group whose positions the feed
   * has (then there is no `previousGeneration`). `recover`: observers are being closed; `recovered` or
   * `stopped` follows, after the time of a session at the earliest. `stop`: `stopped` follows.
   */
  leaseStoreLost: {
    readonly previousGeneration: string | undefined
    readonly generation: string
    readonly action: 'recover' | 'stop'
    /** Leases of which this host knows best where they stood: it tells the feed at once. */
    readonly known: number
  }
  /**
   * Somebody deleted leases of the group, or wrote something else over them: nobody works on `missing`, or two may on
   * `surplus`. `recover`: observers are being closed, and all leases are made anew where the group stands, as after
   * `leaseStoreLost`, which follows. `stop`: `stopped` follows.
   */
  leasesDamaged: LeaseSetDamage & { readonly action: 'recover' | 'stop' }
  /** The group has leases again, at the positions that the feed had. The host joins anew. */
  recovered: {
    readonly generation: string
    /** False: another host made them. */
    readonly byThisHost: boolean
    readonly leases: readonly {
      readonly leaseId: string
      readonly range: FeedRange
      /** Where it goes on. */
      readonly lsn: Lsn
    }[]
    /** Since the loss was noticed. */
    readonly durationMs: number
  }
  /** Nothing is left running. `error` = the host stopped by itself. */
  stopped: { readonly error: unknown }
}

export type HostEventName = keyof HostEvents
export type HostEventListener<Name extends HostEventName> = (event: HostEvents[Name]) => void
