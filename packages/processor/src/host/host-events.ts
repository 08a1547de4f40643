import type { FeedRange, LeaseDurability, Lsn } from '@tidemark/contracts'
import type { PumpEvents } from '../feed-processing/pump-events.ts'
import type { LostCause, ReleaseReason } from '../lease-management/lease-protocol.ts'
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

type OfLease<Events> = { [Name in keyof Events]: LeaseEventBase & Events[Name] }

/** The events of a host (PH-10), with what their listeners get. */
export interface HostEvents extends OfLease<PumpEvents> {
  /** Once, at the start: what the lease store keeps after a crash. Only of stores that know it. */
  leaseStoreDurability: LeaseDurability
  /**
   * Once, at the start, unless you give `feedOptions.mode`: the group reads the newest version of each document, so that versions in between
   * and deletes do not come.
   */
  deletesUnseen: { readonly feed: string }
  /** The session in the group started, also again after it had been fenced. */
  joined: { readonly hostName: string; readonly incarnation: string }
  /** This host has the lease, and works on it from this position on. */
  leaseAcquired: LeaseEventBase & { readonly lsn: Lsn }
  /** Handed over or released, with its last position. */
  leaseReleased: LeaseEventBase & { readonly reason: ReleaseReason }
  /** Another host may own it, or it was deleted. Another host may repeat its last batch. */
  leaseLost: LeaseEventBase & { readonly cause: LostCause }
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
  /**
   * A worker thread of an `observerModule` died. Its calls in flight fail (`observerError`). The host opens new
   * observers for these leases in another thread with their next batch.
   */
  observerThreadEnded: { readonly error: unknown; readonly leaseIds: readonly string[] }
  /** The range was split, and leases of its parts replaced its lease (LE-10). */
  rangeReplaced: LeaseEventBase & { readonly next: readonly PlacedLease[] }
  /** Leases of its parts replaced a lease, so that its pkrange has as many as `leasesPerRange` says (LE-15). */
  leaseCut: LeaseEventBase & { readonly next: readonly PlacedLease[] }
  /** One lease replaced neighbouring leases of one pkrange, which has fewer than before, or was merged. */
  leasesJoined: PlacedLease & { readonly old: readonly LeaseEventBase[] }
  /** The host could not report its positions to the feed. It retries; until then, the feed may keep more than needed. */
  positionReportFailed: {
    readonly error: unknown
    /** Number of ranges. */
    readonly positions: number
    readonly attempt: number
  }
  /** The first of a series of failed calls. Work continues until the session's deadline. */
  leaseStoreUnavailable: { readonly operation: string; readonly error: unknown }
  /** After `leaseStoreUnavailable`: a call succeeded. */
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

/** An event of a host. */
export type HostEventName = keyof HostEvents
/** Called with the data of one event. */
export type HostEventListener<Name extends HostEventName> = (event: HostEvents[Name]) => void

export interface HostListenerOptions {
  /** The listener only counts, as metrics do: trouble still goes to standard error, as if nobody listened. @default false */
  readonly countsOnly?: boolean | undefined
}
