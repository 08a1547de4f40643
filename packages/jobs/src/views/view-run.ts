import { HostStoppedError, type DocumentBody, type RequestOptions } from '@tidemark/contracts'
import {
  ChangeFeedEstimator,
  type ChangeFeedProcessorHost,
  type FeedOptions,
} from '@tidemark/processor'
import { jobHost } from '../workers/job-host.ts'
import { hasPastOfLog } from './deletes-source.ts'
import type { Folds } from './folds/fold.ts'
import { openViewStorage, type OpenedViewStorage } from './open-view-storage.ts'
import type { ViewEvent } from './view-events.ts'
import { ViewObserver } from './view-observer.ts'
import { viewGroups, type ResolvedViewOptions, type ViewOptions } from './view-options.ts'
import { readViewProgress, type ViewProgress } from './view-progress.ts'
import type { ViewEdition } from './view-record.ts'
import type { ViewOwner } from './view-storage.ts'
import { ViewWriter } from './view-writer.ts'

/** What a run needs of its worker. */
export interface ViewRunOptions<T extends DocumentBody, F extends Folds<T>> {
  readonly options: ViewOptions<T, F>
  readonly resolved: ResolvedViewOptions<T>
  readonly edition: ViewEdition
  /** Whether deletes come from the log of all versions. */
  readonly followsLog: boolean
  readonly emit: (event: ViewEvent) => void
  /** A host ended by itself. */
  readonly failed: (error: unknown) => void
}

/** The work on one edition of a view: its hosts, and what measures them. */
export class ViewRun<T extends DocumentBody, F extends Folds<T>> {
  readonly edition: ViewEdition
  readonly storage: OpenedViewStorage
  readonly #run: ViewRunOptions<T, F>
  readonly #hosts: ChangeFeedProcessorHost<T>[] = []
  readonly #groups: ChangeFeedEstimator<T>[] = []
  readonly #closed = new AbortController()

  private constructor(run: ViewRunOptions<T, F>, storage: OpenedViewStorage) {
    this.#run = run
    this.edition = run.edition
    this.storage = storage
  }

  /** Rejects with errors of the stores; then nothing is running. */
  static async start<T extends DocumentBody, F extends Folds<T>>(
    run: ViewRunOptions<T, F>,
  ): Promise<ViewRun<T, F>> {
    const { options, resolved, edition } = run
    const { database, partitionCount } = options.target
    const storage = await openViewStorage(database, resolved.name, edition, { partitionCount })
    const started = new ViewRun(run, storage)
    try {
      await started.#start()
    } catch (error) {
      await started.close()
      throw error
    }
    return started
  }

  progress(options: RequestOptions = {}): Promise<ViewProgress> {
    const { edition, storage } = this
    const { name } = this.#run.resolved
    return readViewProgress({ name, edition, storage, groups: this.#groups }, options)
  }

  /** Resolves when the view has everything that was committed to the source before the call. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const until = { signal: AbortSignal.any([signal, this.#closed.signal]) }
    await Promise.all(this.#groups.map((group) => group.untilCaughtUp(until)))
  }

  /** Stops all of it, also when a part fails to. */
  async close(): Promise<void> {
    this.#closed.abort(new HostStoppedError('the work on this edition of the view has ended'))
    const ended = await Promise.allSettled([
      ...this.#hosts.map((host) => host.unregisterObservers()),
      ...this.#groups.map((group) => group[Symbol.asyncDispose]()),
    ])
    for (const end of ended) if (end.status === 'rejected') throw end.reason
  }

  async #start(): Promise<void> {
    const { options, resolved, edition, followsLog } = this.#run
    const writer = new ViewWriter<T>(this.storage, resolved.definition)
    const groups = viewGroups(resolved.group, edition.number)
    // It begins before the first document is read: what is deleted from then on is in the log. Where leases were lost, what was
    // deleted since is in its past; where they were not, they say where to begin.
    if (followsLog) {
      const isBegun = (await this.storage.readAllProgress()).length > 0
      const startFromBeginning = isBegun && (await hasPastOfLog(options.source))
      const feedOptions = { mode: 'allVersions', startFromBeginning } as const
      await this.#startHost(writer, 'deletes', groups.deletes, feedOptions)
    }
    await this.#startHost(writer, 'documents', groups.documents, {
      startFromBeginning: true,
      // The log has the expiries, too.
      pendingDeletes: !followsLog,
      onHorizonPassed: options.onHorizonPassed,
    })
  }

  async #startHost(
    writer: ViewWriter<T>,
    role: ViewOwner['group'],
    group: string,
    feedOptions: FeedOptions,
  ): Promise<void> {
    const { options, resolved, emit, failed } = this.#run
    const { source, leases } = options
    const { maxItemCount, clock } = resolved
    const host = jobHost<T>(options, {
      group,
      feed: source,
      feedOptions: { ...feedOptions, maxItemCount },
      hostOptions: {
        // What is in the view is known from there alone: positions of one that was dropped would pass over all of it.
        discardExistingLeases: `state ${this.storage.identity}`,
        ...options.hostOptions,
      },
      emit,
    })
    host.on('horizonPassed', ({ leaseId, epoch, action }) => {
      emit({ kind: 'missed', leaseId, epoch, action: action === 'halt' ? 'halt' : 'resync' })
    })
    host.on('stopped', ({ error }) => {
      if (error !== undefined) failed(error)
    })
    const { mode, pendingDeletes } = feedOptions
    this.#hosts.push(host)
    this.#groups.push(
      new ChangeFeedEstimator<T>({ feed: source, leases, group, mode, pendingDeletes, clock }),
    )
    await host.registerObserverFactory(() => new ViewObserver(writer, role, emit))
  }
}
