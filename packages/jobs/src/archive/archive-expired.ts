import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { ChangeFeedEstimator, ChangeFeedProcessorHost } from '@tidemark/processor'
import { JobLife, type RunningJob } from '../workers/job-life.ts'
import { readLag } from '../workers/range-lag.ts'
import { jobLogger, relayHostEvents } from '../workers/relay-host-events.ts'
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

interface Running<T extends DocumentBody> extends RunningJob {
  readonly estimator: ChangeFeedEstimator<T>
}

class ArchiveWorker<T extends DocumentBody> implements ExpiryArchive {
  readonly #options: ArchiveOptions<T>
  readonly #resolved: ResolvedArchiveOptions
  readonly #life: JobLife<Running<T>>
  readonly #finished = Promise.withResolvers<void>()
  #archived = 0
  #batches = 0

  constructor(options: ArchiveOptions<T>, resolved: ResolvedArchiveOptions) {
    this.#options = options
    this.#resolved = resolved
    this.#life = new JobLife('the archive', options.signal)
    // Whoever does not ask is not to be disturbed.
    this.#finished.promise.catch(() => {})
  }

  get group(): string {
    return this.#resolved.group
  }

  get finished(): Promise<void> {
    return this.#finished.promise
  }

  async start(): Promise<void> {
    await this.#life.start(() => this.#open())
    if (this.#options.stopWhenCaughtUp === true) void this.#stopWhenCaughtUp()
  }

  async progress({ signal }: RequestOptions = {}): Promise<ArchiveProgress> {
    const { source } = this.#options
    const { estimator } = this.#life.running()
    const [expiry, lag] = await Promise.all([
      source.readExpiry({ signal, withinSeconds: [] }),
      readLag(estimator, signal),
    ])
    return {
      archived: this.#archived,
      batches: this.#batches,
      pendingDeletes: expiry.pendingDeletes,
      unswept: expiry.unswept,
      lag: lag?.reduce((sum, range) => sum + range.lag, 0),
    }
  }

  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    const { estimator } = this.#life.running()
    await estimator.untilCaughtUp({ signal: this.#life.untilEnded(signal) })
  }

  async stop(): Promise<void> {
    await this.#life.stop()
    // It may never have been started.
    this.#finished.resolve()
  }

  async retire(): Promise<void> {
    await this.stop()
    await this.#options.source.removeWaitingGroup(this.group)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #open(): Promise<Running<T>> {
    const { source, sink, leases, hostName, hostOptions, onHorizonPassed } = this.#options
    const { group, maxItemCount, clock, random } = this.#resolved
    // First of all: what is purged while leases are made would be missing.
    const { rid } = await source.addWaitingGroup(group)
    this.#emit({ kind: 'registered', group })
    const host = new ChangeFeedProcessorHost<T>({
      hostName,
      group,
      feed: source,
      leases,
      feedOptions: {
        startFromBeginning: true,
        maxItemCount,
        pendingDeletes: true,
        onHorizonPassed,
      },
      hostOptions,
      logger: jobLogger(this.#options),
      clock,
      random,
    })
    relayHostEvents(host, (event) => this.#emit(event))
    host.on('stopped', ({ error }) => this.#hostStopped(error))
    host.on('horizonPassed', ({ leaseId, epoch, lsn, horizon, action }) => {
      this.#emit({ kind: 'missed', leaseId, epoch, lsn, horizon, action })
    })
    const { description } = source
    await host.registerObserverFactory(
      () => new ArchiveObserver({ rid, description }, sink, (event) => this.#emit(event)),
    )
    const watched = { feed: source, leases, group, pendingDeletes: true, clock }
    const estimator = new ChangeFeedEstimator<T>(watched)
    return { estimator, close: () => this.#close(host, estimator) }
  }

  async #close(host: ChangeFeedProcessorHost<T>, estimator: ChangeFeedEstimator<T>): Promise<void> {
    try {
      await host.unregisterObservers()
      await estimator[Symbol.asyncDispose]()
      this.#finished.resolve()
    } catch (error) {
      this.#finished.reject(error)
      throw error
    }
  }

  async #stopWhenCaughtUp(): Promise<void> {
    try {
      await this.caughtUp()
      await this.stop()
    } catch (error) {
      // A stop that came first has settled `finished` already.
      this.#finished.reject(error)
    }
  }

  #hostStopped(error: unknown): void {
    if (error !== undefined) this.#finished.reject(error)
    this.#life.fail(error)
  }

  #emit(event: ArchiveEvent): void {
    if (event.kind === 'archived') {
      this.#archived += event.documents
      this.#batches += 1
    }
    this.#options.onEvent?.(event)
  }
}
