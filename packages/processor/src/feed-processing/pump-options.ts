import type { FeedMode } from '@tidemark/contracts'

/**
 * When the end of a processed batch is stored as the position to resume from (PH-5). It is also stored
 * on close and hand-over, except with `manual`.
 *
 * - `everyBatch`: each one. The next batch begins while it is on its way, so that a crash repeats at most
 *   `maxUnstoredBatches`. Small batches that are done within 10 ms are stored together.
 * - `everyChanges`, `everyMs`: after this many processed changes, or this much time, since the last
 *   checkpoint. A crash repeats the changes after it.
 * - `manual`: only when the observer calls `context.checkpoint()`.
 */
export type CheckpointFrequency =
  | 'everyBatch'
  | 'manual'
  | { readonly everyChanges: number }
  | { readonly everyMs: number }

/**
 * What happens when an observer keeps failing (PH-7). Each failure emits `observerError`. The pauses between attempts
 * grow from `retryDelayMs` to `retryMaxDelayMs`. The number of attempts is stored with the lease, and includes attempts
 * during which the process died.
 *
 * - `retryForever`: the batch is retried until it succeeds. The range waits, and nothing is dropped.
 * - `deadLetter`: after `maxAttempts` attempts the batch is bisected until the failing change is found; of an observer with
 *   `processChange` it is known at once. It gets `maxAttempts` attempts alone and then goes to `deadLetters`. The rest continues in order.
 * - `haltRange`: after `maxAttempts` attempts the range stops, with the event `rangeHalted`, until an operator releases
 *   its lease or another host takes it. There, the batch gets one attempt.
 */
export interface FailurePolicyOptions {
  /** What happens to a batch that keeps failing, as above. */
  mode: 'retryForever' | 'deadLetter' | 'haltRange'
  /**
   * Attempts of a batch, or of a change alone, before `deadLetter` or `haltRange` acts.
   * @range 1 to 2_147_483_647 @default 5
   */
  maxAttempts?: number | undefined
  /**
   * After this many dead letters of a range without a success between them, the changes are not the cause: the next
   * one is retried until one succeeds (event `deadLettersSuspended`).
   * @range 1 to 2_147_483_647 @default 100
   */
  maxConsecutiveDeadLetters?: number | undefined
}

/** What is read of a range. Part of `FeedOptions`. */
export interface ReadOptions {
  /**
   * Maximum number of changes in one batch, and so of those that come again when an observer fails that does not say how far it
   * has come. 1,000 cost half as much processor time for each change, where observers do little.
   * @unit changes @range 1 to 2_147_483_647; or -1: the feed's choice, 1,000 in a Tidemark store @default 100, as in Cosmos DB
   */
  maxItemCount?: number | undefined
  /** Whether expired documents come as pending deletes. @default the feed's choice */
  pendingDeletes?: boolean | undefined
  /**
   * What the group reads: each document in its newest version, or every version and delete. A group
   * keeps its mode: positions of one mode are refused in the other. @default 'latestVersion', and the event `deletesUnseen`, or a line of
   * the log
   */
  mode?: FeedMode | undefined
  /**
   * What happens to a range whose pending deletes, or entries of the log of all versions, were purged
   * before this group read them (TTL-15).
   *
   * - `fail`: the range stops, with the event `horizonPassed` and an error in `health()`, until
   *   an operator resets its lease. Other ranges continue.
   * - `resync`: the observer's `resynchronize` is called, then the range is read again from the
   *   beginning. With `mode: 'allVersions'` that is the oldest version that the log keeps: what was
   *   purged does not come, so ask the feed's documents in `resynchronize`.
   *
   * @default 'fail'
   */
  onHorizonPassed?: 'fail' | 'resync' | undefined
}

/** How a host works on each of its leases. Part of `HostOptions`. All intervals in ms. */
export interface WorkOptions {
  /**
   * Wait between two reads of a feed that cannot wake its readers, once caught up.
   * @range any number above 0, up to 2_147_483_647 @default 1_000
   */
  feedPollDelayMs?: number | undefined
  /**
   * @unit changes or ms @range `everyChanges`: 1 to 2_147_483_647; `everyMs`: any number above 0, up to 2_147_483_647
   * @default 'everyBatch'
   */
  checkpointFrequency?: CheckpointFrequency | undefined
  /**
   * With `checkpointFrequency: 'everyBatch'`: the most batches of one lease that are in hand, or done and not stored, and so
   * come again when the process dies. Small ones of together at most 100 changes, or `maxItemCount`, count as one.
   * 1 = each batch waits until the position of the one before is stored.
   * @range 1 to 2_147_483_647 @default 2
   */
  maxUnstoredBatches?: number | undefined
  /** What happens to changes that keep failing: a mode, or all options. @default 'retryForever' */
  failurePolicy?: FailurePolicyOptions['mode'] | FailurePolicyOptions | undefined
  /**
   * How often the host looks for letters that an operator sent back, for each lease.
   * @range any number above 0, up to 2_147_483_647 @default 10_000
   */
  redrivePollMs?: number | undefined
  /**
   * A call of an observer that takes longer is considered hanging: it is aborted, and after `abortGraceMs` the lease
   * goes to another host (event `observerStuck`). For another `maxBatchMs`, this host does not take it back; then it
   * does if no other host has. `Infinity` = never.
   * @range any number above 0, up to 2_147_483_647; or Infinity @default 600_000
   */
  maxBatchMs?: number | undefined
  /**
   * How many partition key values of one range are processed at the same time; changes of one value stay in
   * order (PH-8). Each batch then has changes of one value. The stored position is that before which everything
   * is done, so a crash repeats up to `laneWindowChanges`. Not with manual checkpoints.
   * @range 1 to 2_147_483_647 @default 1
   */
  maxConcurrentKeys?: number | undefined
  /**
   * With lanes: the most changes of one range after the first one that is not done; with `checkpointFrequency: 'everyBatch'`,
   * after the first one that is not stored.
   * @range 1 to 2_147_483_647 @default 10_000
   */
  laneWindowChanges?: number | undefined
  /**
   * Pages read ahead of the observer, for each lease.
   * @range 1 to 2_147_483_647 @default 1 (a second page kept more decoded documents in memory, and was up to a fifth
   * slower when measured)
   */
  readAheadPages?: number | undefined
  /**
   * First wait after an observer or the feed failed; doubles up to `retryMaxDelayMs`.
   * @range any number above 0, up to 2_147_483_647 @default 200
   */
  retryDelayMs?: number | undefined
  /**
   * Longest wait between two attempts. At least `retryDelayMs`.
   * @range any number above 0, up to 2_147_483_647 @default 30_000
   */
  retryMaxDelayMs?: number | undefined
  /**
   * How long an aborted call may take to settle before its observer is closed.
   * @range 0 to 2_147_483_647 @default 5_000
   */
  abortGraceMs?: number | undefined
}

/** Options with their defaults. Those named by `Open` have none. */
export type Resolved<Options, Open extends keyof Options = never> = {
  readonly [Name in Exclude<keyof Options, Open>]-?: Exclude<Options[Name], undefined>
} & { readonly [Name in Open]: Options[Name] }

export type FailurePolicy = Resolved<FailurePolicyOptions>

/** What a pump needs of the options of its host. */
export interface PumpOptions
  extends
    Resolved<Omit<WorkOptions, 'failurePolicy'>>,
    Resolved<ReadOptions, 'maxItemCount' | 'pendingDeletes'> {
  readonly hostName: string
  readonly group: string
  readonly failurePolicy: FailurePolicy
}

/** Starts tasks in the order in which they come, so many at a time. */
export interface ObserverQueue {
  add(task: () => Promise<void>): Promise<unknown>
}
