import type { DocumentBody } from '../documents/document.ts'
import type { Change } from './change.ts'
import type { FeedRange } from '../ranges/feed-range.ts'

/** Why an observer's lease ended (PH-2). */
export type CloseReason =
  'shutdown' | 'leaseLost' | 'leaseHandedOver' | 'observerError' | 'rangeGone' | 'unknown'

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
  /** 1 for the first try of this batch. */
  readonly attempt: number
  /**
   * Stores the end of the present batch as the position to resume from. For
   * `checkpointFrequency: 'manual'`; allowed with the others.
   *
   * Rejects with ERR_LEASE_LOST when another host owns the lease.
   */
  checkpoint(): Promise<void>
}

/**
 * A consumer of changes. Each `open` is followed by exactly one `close`; nothing is called after it.
 * Batches of one range come one after the other, in feed order, at least once; never empty.
 */
export interface IChangeFeedObserver<T extends DocumentBody = DocumentBody> {
  open?(context: ObserverContext): Promise<void> | void
  processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> | void
  close?(context: ObserverContext, reason: CloseReason): Promise<void> | void
}
