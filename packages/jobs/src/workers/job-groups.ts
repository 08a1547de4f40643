import {
  FULL_RANGE,
  HostStoppedError,
  errorCode,
  systemClock,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type FeedRange,
  type IChangeFeedObserver,
  type LeaseStore,
  type RequestOptions,
} from '@tidemark/contracts'
import {
  ChangeFeedEstimator,
  type ChangeFeedProcessorHost,
  type FeedOptions,
  type HostOptions,
} from '@tidemark/processor'
import { jobHost, type JobWork, type WorkerEvent } from './job-host.ts'
import type { JobOptions } from './job-options.ts'
import { sourceDocuments, type SourceDocuments } from './job-source.ts'
import type { RunningJob } from './job.ts'
import { polled, readLag, totalLag, waitForZeroLag, type RangeLag } from './range-lag.ts'

/** A group of leases of a job: one reads documents, and one beside it deletes from the log of all versions. */
export interface ReadingGroup {
  readonly role: 'documents' | 'deletes'
  readonly group: string
  readonly feedOptions?: Pick<FeedOptions, 'mode' | 'pendingDeletes'> | undefined
}

/** How far the groups of a job are behind; undefined before they have leases. */
export interface JobLag {
  readonly documents: readonly RangeLag[] | undefined
  readonly deletes: readonly RangeLag[] | undefined
  /** Transactions that are not done yet, over all of it; undefined before all groups have leases, and while a reconcile is owed. */
  readonly total: number | undefined
}

/** The groups of a job as they are watched, in any process, working on it or not. */
export class WatchedGroups<T extends DocumentBody> implements AsyncDisposable {
  readonly #source: ChangeFeedSource<T>
  readonly #clock: Clock
  readonly #note: ReconcileNote | undefined
  readonly #estimators = new Map<ReadingGroup['role'], ChangeFeedEstimator<T>>()

  constructor(
    {
      source,
      leases,
      clock = systemClock,
      note,
    }: {
      readonly source: ChangeFeedSource<T>
      readonly leases: LeaseStore
      readonly clock?: Clock | undefined
      /** Of jobs that reconcile. */
      readonly note?: ReconcileNote | undefined
    },
    groups: readonly ReadingGroup[],
  ) {
    this.#source = source
    this.#clock = clock
    this.#note = note
    for (const { role, group, feedOptions: { mode, pendingDeletes } = {} } of groups) {
      const watched = { feed: source, leases, group, mode, pendingDeletes, clock }
      this.#estimators.set(role, new ChangeFeedEstimator<T>(watched))
    }
  }

  async lag({ signal }: RequestOptions = {}): Promise<JobLag> {
    const [deletes, documents] = await Promise.all(
      (['deletes', 'documents'] as const).map(async (role) => {
        const estimator = this.#estimators.get(role)
        return estimator && readLag(estimator, signal)
      }),
    )
    const known = [documents, deletes].filter((group) => group !== undefined)
    // Asked for after the leases, which come later than the note.
    const isBegun = known.length === this.#estimators.size && !(await this.#owes(signal))
    const total = isBegun ? totalLag(known.flat()) : undefined
    return { documents, deletes, total }
  }

  /**
   * Whether all groups have leases, and of this source, and no reconcile is owed: the hosts of a job take the leases of another
   * source as none.
   */
  async hasBegun(options: RequestOptions): Promise<boolean> {
    try {
      return (await this.lag(options)).total !== undefined
    } catch (error) {
      if (errorCode(error) !== 'ERR_GROUP_OF_OTHER_FEED') throw error
      return false
    }
  }

  async caughtUp(options: RequestOptions = {}): Promise<void> {
    await Promise.all(Array.from(this.#estimators.values(), (each) => each.untilCaughtUp(options)))
    const { signal = NEVER } = options
    await polled(async () => !(await this.#owes(signal)), { clock: this.#clock, signal })
  }

  /** Resolves at an instant at which no range of any group had anything to do. */
  async untilZeroLag(signal: AbortSignal): Promise<void> {
    const groups = [...this.#estimators.values()]
    const isBegun = async (): Promise<boolean> => !(await this.#owes(signal))
    await waitForZeroLag(this.#source, groups, { isBegun, clock: this.#clock, signal })
  }

  async #owes(signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.#note?.isOwed({ signal })) === true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await allEnded(Array.from(this.#estimators.values(), (each) => each[Symbol.asyncDispose]()))
  }
}

/**
 * A note in the state of a job that a reconcile is owed, from before a group gets leases until it is done: leases alone do
 * not tell whether the start that made them came to its end.
 */
export interface ReconcileNote {
  isOwed(options?: RequestOptions): Promise<boolean>
  /** Notes it, or finds it noted, and answers with what removes that note, and no later one. */
  owe(options?: RequestOptions): Promise<() => Promise<void>>
}

/** Removes what a job remembers and its source does not have any more. */
export interface Reconcile {
  readonly note: ReconcileNote
  within(range: FeedRange, signal: AbortSignal): Promise<void>
}

/** A group that works. */
export interface WorkingGroup<T extends DocumentBody> extends ReadingGroup {
  readonly feedOptions: FeedOptions
  /** @default those of the job */
  readonly hostOptions?: HostOptions | undefined
  readonly deadLetters?: JobWork<T>['deadLetters']
  readonly missed?: JobWork<T>['missed']
  readonly observe: () => IChangeFeedObserver<T>
}

export interface JobGroupsOptions<T extends DocumentBody> {
  readonly options: JobOptions<never>
  readonly source: ChangeFeedSource<T>
  readonly groups: readonly WorkingGroup<T>[]
  /**
   * Removes what the source does not have any more. For jobs that remember what they made, where changes may have been purged
   * unread: before a group begins, which without its leases it may do again, after a start that ended before it was done, and
   * where the horizon has passed a group.
   */
  readonly reconcile?: Reconcile | undefined
  readonly emit: (event: WorkerEvent) => void
  /** A host ended by itself. */
  readonly failed: (error: unknown) => void
}

/** The hosts of a job, and what measures them. */
export class JobGroups<T extends DocumentBody> implements RunningJob {
  readonly watched: WatchedGroups<T>
  readonly #hosts: ChangeFeedProcessorHost<T>[] = []
  readonly #closed = new AbortController()

  private constructor(watched: WatchedGroups<T>) {
    this.watched = watched
  }

  /** Rejects with errors of the stores; then nothing is running. */
  static async start<T extends DocumentBody>({
    options,
    source,
    groups,
    reconcile,
    emit,
    failed,
  }: JobGroupsOptions<T>): Promise<JobGroups<T>> {
    const { leases, clock, signal = NEVER } = options
    const documents = sourceDocuments(source)
    const started = new JobGroups(
      new WatchedGroups({ source, leases, clock, note: reconcile?.note }, groups),
    )
    try {
      const begins = reconcile !== undefined && !(await started.watched.hasBegun({ signal }))
      const settle = begins ? await reconcile.note.owe({ signal }) : undefined
      // Deletes begin before the first document is read or asked for: what is deleted from then on is in the log.
      for (const { role, observe, ...group } of groups.toSorted(byStart)) {
        if (role === 'documents' && settle !== undefined) {
          await reconcile?.within(FULL_RANGE, signal)
          await settle()
        }
        const { hostOptions = options.hostOptions, ...work } = group
        const host = jobHost<T>(options, { ...work, hostOptions, feed: source, emit })
        host.on('stopped', ({ error }) => {
          if (error !== undefined) failed(error)
        })
        started.#hosts.push(host)
        await host.registerObserverFactory(() => {
          return attended(observe(), { documents, reconcile })
        })
      }
    } catch (error) {
      await started.close()
      throw error
    }
    return started
  }

  async caughtUp({ signal = NEVER }: RequestOptions = {}): Promise<void> {
    await this.watched.caughtUp({ signal: AbortSignal.any([signal, this.#closed.signal]) })
  }

  async close(): Promise<void> {
    this.#closed.abort(new HostStoppedError('the hosts of the job were stopped'))
    await allEnded([
      ...this.#hosts.map((host) => host.unregisterObservers()),
      this.watched[Symbol.asyncDispose](),
    ])
  }
}

/** Asks the source where its feed does not say enough. */
function attended<T extends DocumentBody>(
  observer: IChangeFeedObserver<T>,
  {
    documents,
    reconcile,
  }: {
    readonly documents: SourceDocuments<T> | undefined
    readonly reconcile: Reconcile | undefined
  },
): IChangeFeedObserver<T> {
  return {
    open: (context) => observer.open?.(context),
    resynchronize: ({ range, signal }) => reconcile?.within(range, signal),
    close: (context, reason) => observer.close?.(context, reason),
    async processChanges(context, changes) {
      // A change that the job cannot take stops its range only until its document is mended in the source.
      const isRetry = documents !== undefined && context.attempt > 1
      const current = isRetry ? await documents.stillCurrent(changes) : changes
      if (current.length > 0) await observer.processChanges(context, current)
    },
  }
}

/** For callers that do not want to give up. */
export const NEVER: AbortSignal = new AbortController().signal

function byStart(a: Pick<ReadingGroup, 'role'>, b: Pick<ReadingGroup, 'role'>): number {
  return a.role < b.role ? -1 : 1
}

/** Waits for all, also when one fails, and rejects as the first that did. */
async function allEnded(all: readonly PromiseLike<unknown>[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}
