import type { FeedRange, Lsn } from '@tidemark/contracts'

interface LeaseEventBase {
  readonly leaseId: string
  /** The owner's epoch, which the observer got as its fence (LE-11). */
  readonly epoch: number
}

/** What a host tells about itself (PH-10): one entry an event, with what its listeners get. */
export interface HostEvents {
  /** The session in the group began, or began anew after it had been fenced. */
  joined: { readonly hostName: string; readonly incarnation: string }
  leaseAcquired: LeaseEventBase & { readonly lsn: Lsn }
  /** Handed over or given back, with its last position. */
  leaseReleased: LeaseEventBase & { readonly reason: 'leaseHandedOver' | 'shutdown' | 'unplanned' }
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
  /** The observer threw. A batch is tried again after `retryInMs`, for ever. */
  observerError: LeaseEventBase & {
    readonly phase: 'open' | 'processChanges' | 'close'
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number | undefined
  }
  /** The feed could not be read. Tried again after `retryInMs`, for ever. */
  feedError: LeaseEventBase & {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** The pkrange was split or merged away; its observer is closed. */
  rangeGone: LeaseEventBase & { readonly range: FeedRange; readonly error: unknown }
  /** The first of a series of failed calls. Work goes on until the session's deadline. */
  leaseStoreUnavailable: { readonly operation: string; readonly error: unknown }
  leaseStoreRecovered: { readonly operation: string }
  /** The session can no longer be relied on: all observers are being closed. The host re-joins. */
  fenced: { readonly cause: 'deadlinePassed' | 'sessionGone' }
  /** Nothing is left running. `error` = the host stopped by itself. */
  stopped: { readonly error: unknown }
}

export type HostEventName = keyof HostEvents
export type HostEventListener<Name extends HostEventName> = (event: HostEvents[Name]) => void
