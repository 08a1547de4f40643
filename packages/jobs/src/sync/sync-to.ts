import type { Change, DocumentBody, RequestOptions } from '@tidemark/contracts'
import { ChangeFeedEstimator, type FeedOptions } from '@tidemark/processor'
import type { FoundFeed } from '../workers/change-identity.ts'
import { HostedJob, type JobHost } from '../workers/hosted-job.ts'
import { jobHost, jobLogger } from '../workers/job-host.ts'
import { readLag, totalLag } from '../workers/range-lag.ts'
import { isLogKept, keepsRecord, tellUnseenDeletes } from '../workers/unseen-deletes.ts'
import { PatientWriter } from './patient-writer.ts'
import type { SyncEvent } from './sync-events.ts'
import { SyncObserver } from './sync-observer.ts'
import { resolveSyncOptions, type ResolvedSyncOptions, type SyncOptions } from './sync-options.ts'

/** One worker that keeps a sink up to date. */
export interface Sync extends AsyncDisposable {
  /** Its workers share the work. */
  readonly group: string
  /**
   * Makes or checks the sink's target, joins the group's workers and resolves; writing continues in the background.
   *
   * Rejects as the sink's `open`: with ERR_SINK_TARGET when its target cannot be used. Then nothing is running.
   */
  start(): Promise<void>
  /** What this worker has written, and how far the group is behind. */
  progress(options?: RequestOptions): Promise<SyncProgress>
  /** Resolves when the sink has everything that was in the feed before the call. */
  caughtUp(options?: RequestOptions): Promise<void>
  /**
   * Resolves when this worker has stopped: by `stop`, the signal, or `stopWhenCaughtUp`. Rejects if it stopped
   * because of an error.
   */
  readonly finished: Promise<void>
  /** Finishes batches in flight, hands the ranges over and ends. */
  stop(): Promise<void>
}

export interface SyncProgress {
  /** Entries that this worker has written; after a failure, some of them twice. */
  readonly entries: number
  readonly batches: number
  /** Transactions of the feed that the group has not written yet; undefined before it has leases. */
  readonly lag: number | undefined
}

/**
 * Keeps a sink outside up to date with a change feed (JB-6): a table of PostgreSQL, a cache or sorted set of Redis, a
 * webhook, JSON Lines, or a function of yours. Any number of processes with the same `group` share the work by leases.
 *
 * At least once: a worker that is killed between a write and its checkpoint writes that batch again. What that comes to
 * is up to the sink: one that orders versions never goes back. Construction starts nothing.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function syncTo<T extends DocumentBody>(options: SyncOptions<T>): Sync {
  return new SyncWorker(options, resolveSyncOptions(options))
}

class SyncWorker<T extends DocumentBody> implements Sync {
  readonly #options: SyncOptions<T>
  readonly #resolved: ResolvedSyncOptions<T>
  readonly #writer: PatientWriter<T>
  readonly #changes: HostedJob<T>
  /** Reads deletes beside it. */
  readonly #deletes: HostedJob<T> | undefined
  readonly #jobs: readonly HostedJob<T>[]
  readonly finished: Promise<void>
  #entries = 0
  #batches = 0

  constructor(options: SyncOptions<T>, resolved: ResolvedSyncOptions<T>) {
    this.#options = options
    this.#resolved = resolved
    const onUnavailable = (error: unknown): void => {
      this.#emit({ kind: 'failure', what: 'sink', error })
    }
    this.#writer = new PatientWriter({ ...resolved, onUnavailable })
    this.#changes = new HostedJob('the sync', options)
    this.#deletes =
      options.deletes === 'apply' ? new HostedJob('the sync of deletes', options) : undefined
    this.#jobs = this.#deletes === undefined ? [this.#changes] : [this.#deletes, this.#changes]
    this.finished = Promise.all(this.#jobs.map((job) => job.finished)).then(() => {})
    // One without the other is not what the program wants.
    this.finished.catch(() => this.stop()).catch(() => {})
  }

  get group(): string {
    return this.#resolved.group
  }

  async start(): Promise<void> {
    const { group, deletesGroup } = this.#resolved
    const { feedOptions } = this.#options
    // They begin before the first document is read: what is deleted from then on is in the log.
    await this.#deletes?.start(async () => {
      await this.#openSink()
      return this.#host(deletesGroup, { mode: 'allVersions' })
    })
    try {
      await this.#changes.start(async () => {
        if (this.#deletes === undefined) await this.#openSink()
        return this.#host(group, { startFromBeginning: true, ...feedOptions })
      })
    } catch (error) {
      await this.#deletes?.stop()
      throw error
    }
  }

  async progress({ signal }: RequestOptions = {}): Promise<SyncProgress> {
    const lags = await Promise.all(
      this.#jobs.map(async ({ estimator }) => totalLag(await readLag(estimator, signal))),
    )
    const known = lags.filter((lag) => lag !== undefined)
    const lag = known.length < lags.length ? undefined : known.reduce((sum, one) => sum + one, 0)
    return { entries: this.#entries, batches: this.#batches, lag }
  }

  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    await Promise.all(this.#jobs.map((job) => job.caughtUp(signal)))
  }

  stop(): Promise<void> {
    return allSettled(this.#jobs.map((job) => job.stop()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #openSink(): Promise<void> {
    const { feed, signal } = this.#options
    const { sink } = this.#resolved
    // A collection's identity has its `_rid` from its first read on.
    await feed.readFeedRanges({ signal })
    await sink.open?.(feed, { signal })
    await this.#tellIfDeletesAreUnseen()
  }

  async #tellIfDeletesAreUnseen(): Promise<void> {
    const { feed, feedOptions, deletes } = this.#options
    if (deletes !== undefined || feedOptions?.mode === 'allVersions') return
    const isKept = keepsRecord(feed) && (await isLogKept(feed))
    const source = feed.description
    tellUnseenDeletes(
      `sync ${this.group}`,
      { kind: 'deletesUnseen', source, isLogKept: isKept },
      {
        emit: (event) => this.#emit(event),
        logger: jobLogger(this.#options),
        clock: this.#resolved.clock,
      },
    )
  }

  #host(group: string, feedOptions: FeedOptions): JobHost<T> {
    const { feed, leases, deadLetters, clock } = this.#options
    const { deletesGroup } = this.#resolved
    const emit = (event: SyncEvent): void => this.#emit(event)
    const host = jobHost<T>(this.#options, { group, feed, feedOptions, deadLetters, emit })
    host.on('horizonPassed', ({ leaseId, epoch, lsn, horizon, action }) => {
      emit({ kind: 'missed', leaseId, epoch, lsn, horizon, action })
    })
    const { mode, pendingDeletes } = feedOptions
    const { filter = () => true } = this.#options
    const isChosen =
      group === deletesGroup ? this.#isOfDeletes : (change: Change<T>) => filter(change)
    const writer = this.#writer
    return {
      host,
      observe: () => new SyncObserver({ feed, mode, writer, isChosen, emit }),
      estimator: new ChangeFeedEstimator<T>({ feed, leases, group, mode, pendingDeletes, clock }),
    }
  }

  /**
   * What was in the log when its range was opened may be of an earlier epoch, in which the sink got what was written after a
   * delete. In the epoch of now, the delete would win over that; so it is followed by what followed it.
   */
  readonly #isOfDeletes = (change: Change<T>, { epoch, lsn }: FoundFeed): boolean => {
    if (change.kind !== 'version') return false
    const mayBeOfEarlierEpoch = epoch > 0 && change.lsn <= lsn
    if (change.operationType !== 'delete' && !mayBeOfEarlierEpoch) return false
    return this.#options.filter?.(change) ?? true
  }

  #emit(event: SyncEvent): void {
    if (event.kind === 'written') {
      this.#entries += event.entries
      this.#batches += 1
    }
    this.#options.onEvent?.(event)
  }
}

/** Waits for all, and rejects as the first that does. */
async function allSettled(all: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}
