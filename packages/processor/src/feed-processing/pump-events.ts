import type { FeedRange, Lsn, PartitionKey } from '@tidemark/contracts'

/** What a pump tells about its work: events of the host, which adds the lease. */
export interface PumpEvents {
  /** A page with changes was read of the feed. */
  batchRead: { readonly changes: number; readonly lsn: Lsn }
  /** The observer has processed a batch. */
  batchDone: {
    readonly changes: number
    readonly lsn: Lsn
    readonly attempt: number
    readonly durationMs: number
  }
  /** The position was stored with the lease. */
  checkpointed: { readonly lsn: Lsn }
  /**
   * The observer threw. The host retries after `retryInMs`; undefined = it does not. See `failurePolicy`. An AbortError
   * of a call that the host itself aborted is not an event: the lease is lost or moves to another host.
   */
  observerError: {
    readonly phase: 'open' | 'processChanges' | 'resynchronize' | 'close'
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number | undefined
  }
  /**
   * A call was aborted, because its lease had to move (`leaseHandedOver`) or its host to stop (`shutdown`), and
   * `handoffTimeoutMs` or `shutdownTimeoutMs` was over. Its changes that were not accepted come again.
   */
  batchAborted: {
    readonly changes: number
    /** Of the last of them. */
    readonly lsn: Lsn
    readonly reason: 'shutdown' | 'leaseHandedOver'
    readonly inFlightMs: number
  }
  /** A part of a failing batch is tried separately from now on. `changes` = the number of changes of the part. */
  batchBisected: {
    readonly changes: number
    readonly lsn: Lsn
    readonly error: unknown
  }
  /** A change that kept failing became a dead letter. */
  deadLettered: {
    readonly letterId: string
    readonly id: string
    readonly partitionKey: PartitionKey
    readonly lsn: Lsn
    readonly attempts: number
    readonly error: unknown
  }
  /** A dead letter could not be stored, fetched or settled. The host retries after `retryInMs`, without end. */
  deadLetterFailed: {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** There were `maxConsecutiveDeadLetters` without a success between them: the next change is retried without end. */
  deadLettersSuspended: { readonly consecutive: number; readonly lsn: Lsn }
  /** A dead letter that an operator sent back succeeded. */
  redriven: { readonly letterId: string; readonly lsn: Lsn }
  /** With `haltRange`: the range stops until its lease is released. */
  rangeHalted: {
    readonly range: FeedRange
    readonly lsn: Lsn
    readonly attempts: number
    readonly error: unknown
  }
  /** A call did not return within `maxBatchMs`. It was aborted, and its lease moves to another host. */
  observerStuck: { readonly inFlightMs: number; readonly error: unknown }
  /**
   * A sink refused a write at this epoch (ERR_FENCED_WRITE), because it has seen a newer owner. The observer is
   * closed. If the newer owner exists, `leaseLost` follows. If the lease store has lost it, the lease is released
   * (`leaseReleased`) after the time of a session, or of up to a minute if this repeats, and acquired again at a
   * higher epoch.
   */
  leaseFenced: {
    /** The highest epoch that the sink has seen. */
    readonly currentEpoch: number
    readonly error: unknown
  }
  /** The feed could not be read. The host retries after `retryInMs`, without end. */
  feedError: {
    readonly error: unknown
    readonly attempt: number
    readonly retryInMs: number
  }
  /** The pkrange was split or merged away; its observer is closed. `rangeReplaced` follows. */
  rangeGone: { readonly range: FeedRange; readonly error: unknown }
  /**
   * Changes were purged before this group read them (TTL-15). `halt`: the range stops, and the host checks it
   * every 30 s; `resync`: it starts over.
   */
  horizonPassed: {
    readonly range: FeedRange
    /** The position of the group. */
    readonly lsn: Lsn
    readonly horizon: Lsn
    readonly action: 'halt' | 'resync'
    readonly error: unknown
  }
  /** `resynchronize` of the observer succeeded; the range is read again from the beginning. */
  resynchronized: {
    readonly range: FeedRange
    readonly lsn: Lsn
    readonly horizon: Lsn
    readonly untilLsn: Lsn
  }
}

export type PumpNotice = {
  [Name in keyof PumpEvents]: { readonly kind: Name } & PumpEvents[Name]
}[keyof PumpEvents]
