import type { DocumentBody } from '../documents/document.ts'
import type { Change } from './change.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { Lsn } from '../ranges/lsn.ts'

/**
 * Why an observer's lease ended (PH-2). `rangeGone`: other leases replaced it, because of a split or after a merge.
 * `resynchronized`: the range starts over with a new observer, after `resynchronize`.
 * `observerStuck`: a call did not return within `maxBatchMs`; it may still be running. `fenced`: a call failed with
 * ERR_FENCED_WRITE, because a sink has seen a newer owner.
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

/** A sink compares it to refuse a stale owner (LE-11). */
export interface Fence {
  /** Identity of the lease store's data; for information. */
  readonly generation: string
  /** Rises with every change of owner of this lease. */
  readonly epoch: number
  /** LSN of the last change of the call; 0 in `open` and `close`. */
  readonly lsn: number
}

export interface ObserverContext {
  readonly hostName: string
  readonly group: string
  readonly leaseId: string
  readonly range: FeedRange
  readonly fence: Fence
  /** Aborted when the lease can no longer be relied on; stop causing side effects then. */
  readonly signal: AbortSignal
  /** 1 for the first attempt at this batch; attempts during which a process died count too. */
  readonly attempt: number
  /**
   * True for a dead letter that an operator sent back: an old change, alone in its batch. Newer versions of its
   * document may have been processed meanwhile.
   */
  readonly redriven: boolean
  /** Of the page that the changes are of: its end. Undefined where there is no page, as in `open` and with `redriven`. */
  readonly continuation?: string | undefined
  /**
   * Says that `change`, and what comes before it in the batch, is processed, before all of the batch is. A failure, a retry,
   * a stop and a hand-over from then on repeat none of it. A crash repeats what was accepted in the last 10 ms, or since the
   * last checkpoint with `checkpointFrequency` `everyChanges` or `everyMs`. Not needed with `processChange`, nor for a whole
   * batch: that is accepted when the call returns. Where the feed has no positions in the middle of a page (an Azure account),
   * and with `maxConcurrentKeys`, only retries in this host know of it.
   *
   * @returns whether to go on. False: the host is to stop, or the lease to move; return, and what was not accepted comes
   *   to the next owner. If you go on nevertheless, accept each change.
   * @throws ERR_INVALID_OPTION if the change is not of this batch
   */
  readonly accepted: (change: Change) => boolean
  /**
   * Stores the end of the current batch as the position to resume from. For `checkpointFrequency: 'manual'`, but you
   * can also call it with the others.
   *
   * Rejects with ERR_LEASE_LOST when another host owns the lease, and with ERR_INVALID_OPTION in `processChange`, which
   * knows of no batch.
   */
  checkpoint(): Promise<void>
}

/** What a reader missed, and up to which LSN it reads again. */
export interface Resynchronization {
  readonly range: FeedRange
  /** The group's position. */
  readonly lsn: Lsn
  /** Pending deletes up to here were purged. */
  readonly horizon: Lsn
  /** Once the group has reached this LSN again, it has seen every document that exists. */
  readonly untilLsn: Lsn
}

/**
 * A consumer of changes. Each `open` is followed by exactly one `close`; nothing is called after it. Batches of one
 * range arrive one after the other, in feed order, at least once, and are never empty. A batch that fails, or takes longer than a stop waits,
 * comes again as a whole, but for what you said of it by `context.accepted`. Where each change has an effect of its own, have
 * `processChange` instead (`ISingleChangeObserver`).
 */
export interface IChangeFeedObserver<T extends DocumentBody = DocumentBody> {
  open?(context: ObserverContext): Promise<void> | void
  processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> | void
  /**
   * With `onHorizonPassed: 'resync'`: pending deletes were purged before this group read them. Afterwards, the range
   * is delivered again from the beginning, with all its current documents. A document that you do not get again by
   * `untilLsn` no longer exists; the simplest way is to drop your data of the range here. Called again if the host
   * dies before the restart is stored.
   */
  resynchronize?(context: ObserverContext, resync: Resynchronization): Promise<void> | void
  close?(context: ObserverContext, reason: CloseReason): Promise<void> | void
}

/**
 * A consumer that handles one change at a time, in feed order. What it has accepted does not come again, but after a crash: a
 * retry, a dead letter, a stop or a hand-over begins with the change that is not done. Not for `checkpointFrequency: 'manual'`.
 *
 * @example
 * await host.registerObserver({
 *   async processChange({ signal }, change) {
 *     if (change.kind === 'document') await sendReceipt(change.document, { signal })
 *   },
 * })
 */
export interface ISingleChangeObserver<T extends DocumentBody = DocumentBody> extends Omit<
  IChangeFeedObserver<T>,
  'processChanges'
> {
  /** Returns when the change is processed. `context.attempt` counts the attempts at this change. */
  processChange(context: ObserverContext, change: Change<T>): Promise<void> | void
}

/** What handles changes: one by one, or a batch at a time. */
export type FeedObserver<T extends DocumentBody = DocumentBody> =
  | IChangeFeedObserver<T>
  | ISingleChangeObserver<T>
