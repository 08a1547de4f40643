import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { ChangeFeedEstimator } from '@tidemark/processor'
import { HostedJob, type JobHost } from '../workers/hosted-job.ts'
import { jobHost } from '../workers/job-host.ts'
import { readLag, totalLag } from '../workers/range-lag.ts'
import type { ArchiveEvent } from './archive-events.ts'
import { ArchiveObserver } from './archive-observer.ts'
import {
  resolveArchiveOptions,
  type ArchiveOptions,
  type ResolvedArchiveOptions,
} from './archive-options.ts'

/** One worker of an archive. */
export interface ExpiryArchive extends AsyncDisposable {
  /** Purges of the source wait for it. */
  readonly group: string
  /**
   * Makes purges wait for the group, then joins its workers and resolves; archiving continues in the background. Once
   * it has resolved, nothing is purged before it is archived, also while no worker runs, until `retire`.
   */
  start(): Promise<void>
  /** What this worker has archived, and what is left in the collection. */
  progress(options?: RequestOptions): Promise<ArchiveProgress>
  /** Resolves when every pending delete that was in the feed before the call is in the sink. */
  caughtUp(options?: RequestOptions): Promise<void>
  /**
   * Resolves when this worker has stopped: by `stop`, the signal, or `stopWhenCaughtUp`. Rejects if it stopped
   * because of an error.
   */
  readonly finished: Promise<void>
  /** Finishes batches in flight, hands the ranges over and ends. Purges still wait for the group. */
  stop(): Promise<void>
  /** Stops, and purges no longer wait for the group: this ends the archive for all workers. */
  retire(): Promise<void>
}

export interface ArchiveProgress {
  /** Documents that this worker has written to the sink; after a crash, some of them twice. */
  readonly archived: number
  readonly batches: number
  /** Pending deletes that are not purged yet, archived or not. */
  readonly pendingDeletes: number
  /** Expired documents that are not pending deletes yet. */
  readonly unswept: number
  /** Transactions of the source that the group has not read yet; undefined before it has leases. */
  readonly lag: number | undefined
}

/**
 * Moves expired documents to a sink before they are purged (TTL-14). Any number of processes with the
 * same `group` share the work by leases. At least once: if a worker is killed between the sink's confirmation and its
 * checkpoint, the batch is repeated. Construction starts nothing.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function archiveExpired<T extends DocumentBody>(options: ArchiveOptions<T>): ExpiryArchive {
  return new ArchiveWorker(options, resolveArchiveOptions(options))
}

class ArchiveWorker<T extends DocumentBody> implements ExpiryArchive {
  readonly #options: ArchiveOptions<T>
  readonly #resolved: ResolvedArchiveOptions
  readonly #job: HostedJob<T>
  #archived = 0
  #batches = 0

  constructor(options: ArchiveOptions<T>, resolved: ResolvedArchiveOptions) {
    this.#options = options
    this.#resolved = resolved
    this.#job = new HostedJob('the archive', options)
  }

  get group(): string {
    return this.#resolved.group
  }

  get finished(): Promise<void> {
    return this.#job.finished
  }

  start(): Promise<void> {
    return this.#job.start(() => this.#open())
  }

  async progress({ signal }: RequestOptions = {}): Promise<ArchiveProgress> {
    const { source } = this.#options
    const { estimator } = this.#job
    const [expiry, lag] = await Promise.all([
      source.readExpiry({ signal, withinSeconds: [] }),
      readLag(estimator, signal),
    ])
    return {
      archived: this.#archived,
      batches: this.#batches,
      pendingDeletes: expiry.pendingDeletes,
      unswept: expiry.unswept,
      lag: totalLag(lag),
    }
  }

  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    await this.#job.caughtUp(signal)
  }

  stop(): Promise<void> {
    return this.#job.stop()
  }

  async retire(): Promise<void> {
    await this.stop()
    await this.#options.source.removeWaitingGroup(this.group)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #open(): Promise<JobHost<T>> {
    const { source, sink, leases, onHorizonPassed, clock } = this.#options
    const { group, maxItemCount } = this.#resolved
    // First of all: what is purged while leases are made would be missing.
    const { rid } = await source.addWaitingGroup(group)
    this.#emit({ kind: 'registered', group })
    await sink.open?.(source, { signal: this.#options.signal })
    const host = jobHost<T>(this.#options, {
      group,
      feed: source,
      feedOptions: {
        startFromBeginning: true,
        maxItemCount,
        pendingDeletes: true,
        onHorizonPassed,
      },
      emit: (event) => this.#emit(event),
    })
    host.on('horizonPassed', ({ leaseId, epoch, lsn, horizon, action }) => {
      this.#emit({ kind: 'missed', leaseId, epoch, lsn, horizon, action })
    })
    const { description } = source
    const watched = { feed: source, leases, group, pendingDeletes: true, clock }
    return {
      host,
      observe: () => new ArchiveObserver({ rid, description }, sink, (event) => this.#emit(event)),
      estimator: new ChangeFeedEstimator<T>(watched),
    }
  }

  #emit(event: ArchiveEvent): void {
    if (event.kind === 'archived') {
      this.#archived += event.documents
      this.#batches += 1
    }
    this.#options.onEvent?.(event)
  }
}
