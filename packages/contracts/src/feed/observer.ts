import type { DocumentBody } from '../documents/document.ts'
import type { Change } from './change.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { Lsn } from '../ranges/lsn.ts'

/**
 * Why an observer's lease ended (PH-2). `rangeGone`: other leases came in its place, because of a split or
 * after a merge. `resynchronized`: the range begins anew, with a new observer, after `resynchronize`.
 * `observerStuck`: a call did not return within `maxBatchMs`; it may still be running. `fenced`: a call failed with
 * ERR_FENCED_WRITE, because a sink knows a newer owner.
 */
export type CloseReason =
  | 'shutdown'
  | 'leaseLost'
  | 'leaseHandedOver'
  | 'observerError'
  | 'rangeGone'
  | 'resynchronized'
  | 'observerStuck'
  | 'fenced'
  | 'unknown'

/** What a sink may compare to refuse a stale owner (LE-11). */
export interface Fence {
  /** Identity of the lease store's data; for information. */
  readonly generation: string
  /** Rises with every change of owner of this lease. */
  readonly epoch: number
  /** LSN of the batch's last change; 0 in `open` and `close`. */
  readonly lsn: number
}

export interface ObserverContext {
  readonly hostName: string
  readonly group: string
  readonly leaseId: string
  readonly range: FeedRange
  readonly fence: Fence
  /** Aborted when the lease can no longer be relied on; stop acting on the outside then. */
  readonly signal: AbortSignal
  /** 1 for the first try of this batch; tries that a process died in count too. */
  readonly attempt: number
  /**
   * True for a dead letter that an operator sent back: a change of long ago, alone in its batch. Newer
   * versions of its document may have been processed meanwhile.
   */
  readonly redriven: boolean
  /**
   * Stores the end of the present batch as the position to resume from. For
   * `checkpointFrequency: 'manual'`; allowed with the others.
   *
   * Rejects with ERR_LEASE_LOST when another host owns the lease.
   */
  checkpoint(): Promise<void>
}

/** What a reader missed, and until where it reads again. */
export interface Resynchronization {
  readonly range: FeedRange
  /** Where the group stood. */
  readonly lsn: Lsn
  /** Pending deletes up to here were purged. */
  readonly horizon: Lsn
  /** Once the group has come to this LSN again, it has seen every document that was there. */
  readonly untilLsn: Lsn
}

/**
 * A consumer of changes. Each `open` is followed by exactly one `close`; nothing is called after it.
 * Batches of one range come one after the other, in feed order, at least once; never empty.
 */
export interface IChangeFeedObserver<T extends DocumentBody = DocumentBody> {
  open?(context: ObserverContext): Promise<void> | void
  processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> | void
  /**
   * With `onHorizonPassed: 'resync'`: pending deletes that this group had not seen were purged while it
   * was away. After this the range is delivered again from the beginning, all its present documents.
   * Whatever the observer keeps of the range and does not get again by `untilLsn` is gone; the simplest
   * is to drop all of it here. Called again if the host dies before the restart is stored.
   */
  resynchronize?(context: ObserverContext, resync: Resynchronization): Promise<void> | void
  close?(context: ObserverContext, reason: CloseReason): Promise<void> | void
}
