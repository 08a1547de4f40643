import type {
  ChangeFeedSource,
  Clock,
  DeadLetter,
  DeadLetterSink,
  DocumentBody,
  FeedMode,
  LeaseStore,
  SinkCallOptions,
  Random,
} from '@tidemark/contracts'
import type { HostLogger } from './host-log.ts'

/**
 * When the end of a processed batch is stored as the position to resume from (PH-5). Whatever is
 * chosen, it is stored on close and hand-over too, except with `manual`.
 *
 * - `everyBatch`: before the next batch is dispatched, so that a crash repeats at most one batch.
 * - `everyChanges`, `everyMs`: when so many changes were processed, or so much time has passed,
 *   since the last one. A crash repeats what came after it.
 * - `manual`: only when the observer calls `context.checkpoint()`.
 */
export type CheckpointFrequency =
  'everyBatch' | 'manual' | { readonly everyChanges: number } | { readonly everyMs: number }

/**
 * Where and what a host reads (PH-6). A start position counts only for leases that do not exist yet:
 * a stored lease beats `startContinuation`, which beats `startTime`, which beats
 * `startFromBeginning`. Without any of them: now (CF-6).
 */
export interface FeedOptions {
  /** Upper bound of changes in one batch. @default the feed's choice; -1 means the same */
  maxItemCount?: number | undefined
  /** @default false (now) */
  startFromBeginning?: boolean | undefined
  /** Changes of its second and later. */
  startTime?: Date | undefined
  /** Of this collection, and of a range that contains those read; else ERR_INVALID_CONTINUATION. */
  startContinuation?: string | undefined
  /** Only this pkrange: its id, or its feed range as `min-max` for feeds without ids. @default all */
  partitionKeyRangeId?: string | undefined
  /** Whether expired documents come as pending deletes. @default the feed's choice */
  pendingDeletes?: boolean | undefined
  /**
   * What the group reads: each document in its newest version, or every version and delete. A group
   * keeps its mode: positions of one mode are refused in the other. @default 'latestVersion'
   */
  mode?: FeedMode | undefined
  /**
   * What happens to a range whose pending deletes, or entries of the log of all versions, were purged
   * before this group read them (TTL-15).
   *
   * - `fail`: the range stands still, with the event `horizonPassed` and an error in `health()`, until
   *   somebody resets its lease. Other ranges go on.
   * - `resync`: the observer's `resynchronize` is called, then the range is read again from the
   *   beginning. Not with `mode: 'allVersions'`: what was purged there is in no document.
   *
   * @default 'fail'
   */
  onHorizonPassed?: 'fail' | 'resync' | undefined
}

/**
 * What becomes of changes that an observer does not accept (PH-7). Each failure is the event `observerError`; the
 * pauses between tries grow from `retryDelayMs` to `retryMaxDelayMs`. Tries are kept with the lease, those too that
 * a process died in.
 *
 * - `retryForever`: the batch is tried until it is accepted. Nothing behind it moves, and nothing is dropped.
 * - `deadLetter`: after `maxAttempts` tries the batch is cut in halves until the failing change is found, which
 *   is tried `maxAttempts` times by itself and then handed to `deadLetters`. The rest goes on in order.
 * - `haltRange`: after `maxAttempts` tries the range stands still, with the event `rangeHalted`, until its lease is
 *   released by an operator or taken by another host, where the batch gets one try.
 */
export interface FailurePolicyOptions {
  mode: 'retryForever' | 'deadLetter' | 'haltRange'
  /** @default 5 */
  maxAttempts?: number | undefined
  /**
   * After so many dead letters of a range without a success between them it is not the changes' fault: the next
   * one is tried for ever, until something is accepted (event `deadLettersSuspended`). @default 100
   */
  maxConsecutiveDeadLetters?: number | undefined
}

/** How a host keeps leases and works on them (PH-6). All intervals in ms. */
export interface HostOptions {
  /**
   * Interval of the heartbeat that renews all leases of the host at once. At most half of
   * `leaseExpirationIntervalMs`. @default 2_000
   */
  leaseRenewIntervalMs?: number | undefined
  /**
   * A host not heard of for this long loses its leases. Longer: fewer takeovers of hosts that merely
   * paused; shorter: a killed host's ranges go on sooner. @default 8_000
   */
  leaseExpirationIntervalMs?: number | undefined
  /**
   * How often leases that this host is entitled to and could not get yet are tried again, besides at
   * once on each join, leave and release. @default 2_000
   */
  leaseAcquireIntervalMs?: number | undefined
  /** Wait between two reads of a feed that cannot wake its readers, once caught up. @default 1_000 */
  feedPollDelayMs?: number | undefined
  /** @default 'everyBatch' */
  checkpointFrequency?: CheckpointFrequency | undefined
  /** This many leases come before the even share, if there are enough (LE-7). @default 0 */
  minPartitionCount?: number | undefined
  /** Never more leases than this; what nobody may take is a health event (LE-7). @default no bound */
  maxPartitionCount?: number | undefined
  /** Share of leases relative to other hosts. @default 1 */
  weight?: number | undefined
  /** Gets leases only while every host that is not on standby is gone, or at its max. @default false */
  standby?: boolean | undefined
  /**
   * Deletes the group's leases at start, once for each new token, so that everything begins anew
   * from the start position (LE-8). Hosts that start together pass the same token. @default nothing is deleted
   */
  discardExistingLeases?: string | undefined
  /** The Cosmos name of `group`. @default 'default' */
  leasePrefix?: string | undefined
  /** What becomes of changes that fail again and again: a mode, or all of it. @default 'retryForever' */
  failurePolicy?: FailurePolicyOptions['mode'] | FailurePolicyOptions | undefined
  /** How often letters that an operator sent back are looked for, for each lease. @default 10_000 */
  redrivePollMs?: number | undefined
  /**
   * A call of an observer that takes longer is taken for one that never returns: it is aborted, and after
   * `abortGraceMs` the lease goes to another host (event `observerStuck`). For as long again this host takes it
   * only if nobody else does not. `Infinity` = never. @default 600_000
   */
  maxBatchMs?: number | undefined
  /**
   * Changes of so many partition key values of one range are processed at the same time, those of one value in
   * order (PH-8). Batches then hold changes of one value. The position stored is that before which everything
   * is done, so that a crash repeats up to `laneWindowChanges`. Not with manual checkpoints. @default 1
   */
  maxConcurrentKeys?: number | undefined
  /**
   * Changes of one range that are read and not all done before them, with lanes; with `checkpointFrequency: 'everyBatch'`
   * also those that are done and not stored. @default 10_000
   */
  laneWindowChanges?: number | undefined
  /**
   * Observer calls of this host that run at the same time.
   * @default 32, or four times `maxConcurrentKeys` if that is more
   */
  maxConcurrentObservers?: number | undefined
  /** Pages read ahead of the observer, for each lease. @default 1 (a second page only kept more decoded documents alive: up to a fifth slower when it was measured) */
  readAheadPages?: number | undefined
  /** First wait after an observer or the feed failed; doubles up to `retryMaxDelayMs`. @default 200 */
  retryDelayMs?: number | undefined
  /** @default 30_000 */
  retryMaxDelayMs?: number | undefined
  /**
   * A batch in flight may take this long when its lease is to go to another host; then it is aborted
   * and the lease is handed over without its checkpoint. @default 30_000
   */
  handoffTimeoutMs?: number | undefined
  /** The same for `unregisterObservers`. @default 30_000 */
  shutdownTimeoutMs?: number | undefined
  /** How long a call that was aborted may take to settle before its observer is closed. @default 5_000 */
  abortGraceMs?: number | undefined
  /** `registerObserver` rejects when the stores did not answer for this long. @default 30_000 */
  startTimeoutMs?: number | undefined
  /** A call to the lease store without answer counts as failed. @default `leaseRenewIntervalMs` */
  leaseStoreTimeoutMs?: number | undefined
  /**
   * What happens when the lease store has lost its data, or has no leases of a group whose positions the
   * feed still has, or leases that do not cover all keys. Never a start from "now".
   *
   * - `recover`: observers are closed, every host tells the feed what it knows to be stored, waits for
   *   `leaseExpirationIntervalMs`, and goes on with leases made from the feed's positions. What had not been
   *   told comes again.
   * - `stop`: the host stops, and hosts do not start, with ERR_LEASES_VANISHED.
   *
   * @default 'recover' with feeds that keep positions of groups and can make continuations of them (a
   * Tidemark collection), else 'stop'
   */
  onLeaseStoreLoss?: 'recover' | 'stop' | undefined
}

export interface ChangeFeedProcessorHostOptions<T extends DocumentBody = DocumentBody> {
  /**
   * Of one process: a second one of the same name takes over from the first. A name that stays, such as that of a pod,
   * lets a host that was killed and started again go on at once; under a new one it waits for its old session to
   * expire (`leaseExpirationIntervalMs`). @default a new one: machine, process id and chance
   */
  hostName?: string | undefined
  /** The processor group; groups process the feed independently. @default `hostOptions.leasePrefix` */
  group?: string | undefined
  feed: ChangeFeedSource<T>
  /** Not documents in the monitored collection itself (LE-2). */
  leases: LeaseStore
  /** Where changes go that fail again and again, with `failurePolicy` `deadLetter`: a sink, or just a function. */
  deadLetters?:
    | DeadLetterSink<T>
    | ((letter: DeadLetter<T>, options: SinkCallOptions) => Promise<void> | void)
    | undefined
  feedOptions?: FeedOptions | undefined
  hostOptions?: HostOptions | undefined
  /**
   * Where trouble is told, one line each: observers and feeds that fail, dead letters, halted ranges, lost leases, a
   * host that stopped by itself. At most one line of an event in 10 s; the next one says how many were held back. A
   * logger that is given gets all of it; `false` = nothing is told.
   *
   * @default the standard error output, for events that the program does not listen to
   */
  logger?: HostLogger | false | undefined
  /** @default the machine's */
  clock?: Clock | undefined
  /** @default the machine's */
  random?: Random | undefined
}

/**
 * The intervals of Azure Cosmos DB's .NET change feed processor, for `hostOptions`. They make a
 * crash or a new host take effect after minutes; ours are the better ones for new work.
 */
export const cosmosDefaults: HostOptions = {
  leaseRenewIntervalMs: 17_000,
  leaseExpirationIntervalMs: 60_000,
  leaseAcquireIntervalMs: 13_000,
  feedPollDelayMs: 5_000,
}
