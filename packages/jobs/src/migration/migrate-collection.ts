import { HostStoppedError, type DocumentBody, type RequestOptions } from '@tidemark/contracts'
import type { ChangeFeedProcessorHost, FeedOptions } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { JobLife, type RunningJob } from '../workers/job-life.ts'
import { jobHost, jobLogger } from '../workers/job-host.ts'
import { isLogKept, tellUnseenDeletes } from '../workers/unseen-deletes.ts'
import type { MigrationEvent } from './migration-events.ts'
import { openMigrationGroups } from './migration-groups.ts'
import { MigrationObserver } from './migration-observer.ts'
import {
  deletesGroup,
  resolveMigrationOptions,
  type MigrationOptions,
  type ResolvedMigrationOptions,
} from './migration-options.ts'
import type { MigrationProgress } from './migration-progress.ts'
import { MigrationWatch } from './migration-watch.ts'
import { MigrationWriter } from './migration-writer.ts'
import { openMigrationStorage } from './open-migration-storage.ts'
import type { RangeOwner } from './range-owner.ts'

/** One worker of a migration. */
export interface Migration<T extends DocumentBody> extends AsyncDisposable {
  /**
   * Creates what is missing, joins the job's workers and resolves; copying continues in the background.
   *
   * Rejects with ERR_MIGRATION_TARGET when the target cannot be used or created, and with errors of the lease store
   * or the store. Then nothing is running.
   */
  start(): Promise<void>
  /** The target, once `start` has resolved. */
  readonly target: Collection<T>
  /** The progress of the whole job, over all workers. Reads the leases and some counters. */
  progress(options?: RequestOptions): Promise<MigrationProgress>
  /** Resolves when the target has everything that was committed to the source before the call. */
  caughtUp(options?: RequestOptions): Promise<void>
  /**
   * Resolves at an instant at which the lag of every range is zero, over all workers. Stop the writers first: then
   * source and target are the same from then on.
   */
  cutOver(options?: RequestOptions): Promise<MigrationProgress>
  /** Finishes batches in flight, hands the ranges over and ends. A later worker continues from what is stored. */
  stop(): Promise<void>
}

/**
 * Copies a collection into another one while it is being written, if you like with another partition key (JB-1): from
 * the beginning, then live. Any number of processes with the same `job` share the work by leases.
 *
 * Effectively once: each commit to the target contains the copies, what has been copied, and a fence. A worker that
 * is killed at any point, or returns late, leaves the target as if nothing had happened.
 * Construction starts nothing.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function migrateCollection<S extends DocumentBody, T extends DocumentBody>(
  options: MigrationOptions<S, T>,
): Migration<T> {
  return new MigrationWorker(options, resolveMigrationOptions(options))
}

interface Running<S extends DocumentBody> extends RunningJob {
  readonly watch: MigrationWatch<S>
}

class MigrationWorker<S extends DocumentBody, T extends DocumentBody> implements Migration<T> {
  readonly #options: MigrationOptions<S, T>
  readonly #resolved: ResolvedMigrationOptions
  readonly #life: JobLife<Running<S>>
  #target: Collection<T> | undefined

  constructor(options: MigrationOptions<S, T>, resolved: ResolvedMigrationOptions) {
    this.#options = options
    this.#resolved = resolved
    this.#life = new JobLife('the migration', options.signal)
  }

  get target(): Collection<T> {
    if (this.#target === undefined) throw new HostStoppedError('the migration has not started')
    return this.#target
  }

  start(): Promise<void> {
    return this.#life.start(() => this.#open())
  }

  async progress(options: RequestOptions = {}): Promise<MigrationProgress> {
    return this.#life.running().watch.progress(options)
  }

  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    await this.#life.running().watch.caughtUp({ signal: this.#life.untilEnded(signal) })
  }

  async cutOver({ signal }: RequestOptions = {}): Promise<MigrationProgress> {
    return this.#life.running().watch.cutOver({ signal: this.#life.untilEnded(signal) })
  }

  stop(): Promise<void> {
    return this.#life.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #open(): Promise<Running<S>> {
    const options = this.#options
    const { source, leases, expiry = 'carry', deletes = 'ignore' } = options
    const { name } = this.#resolved
    const storage = await openMigrationStorage(options, name)
    this.#target = storage.target
    if (options.deletes === undefined) await this.#warnOfDeletes()
    const writer = new MigrationWriter(storage, options.mapDocument)
    const hosts: ChangeFeedProcessorHost<S>[] = []
    try {
      // It begins before the first document is read: what is deleted from then on is in the log.
      const stateIdentity = storage.entries.identity
      if (deletes === 'apply') hosts.push(await this.#startDeletes(writer, stateIdentity))
      const pendingDeletes = storage.carrier !== undefined
      hosts.push(await this.#startCopy(writer, { pendingDeletes, stateIdentity }))
    } catch (error) {
      await stopAll(hosts)
      throw error
    }
    const { clock } = this.#resolved
    const groups = await openMigrationGroups(leases, name, { source, expiry, deletes, clock })
    const { progress } = storage
    const watch = new MigrationWatch<S>({ job: options.job, source, groups, progress, clock })
    const reporting = this.#report(watch)
    return {
      watch,
      async close() {
        try {
          await stopAll(hosts)
        } finally {
          await reporting
          await watch.close()
        }
      },
    }
  }

  async #warnOfDeletes(): Promise<void> {
    const { source, job } = this.#options
    const name = `${source.databaseId}/${source.id}`
    const unseen = {
      kind: 'deletesUnseen',
      source: name,
      isLogKept: await isLogKept(source),
    } as const
    tellUnseenDeletes(`migration ${job}`, unseen, {
      emit: (event) => this.#emit(event),
      logger: jobLogger(this.#options),
      clock: this.#resolved.clock,
    })
  }

  #startCopy(
    writer: MigrationWriter<S, T>,
    { pendingDeletes, stateIdentity }: { pendingDeletes: boolean; stateIdentity: string },
  ): Promise<ChangeFeedProcessorHost<S>> {
    const feedOptions: FeedOptions = {
      startFromBeginning: true,
      pendingDeletes,
      // Pending deletes that were purged unseen are of copies that have expired by themselves.
      onHorizonPassed: pendingDeletes ? 'resync' : undefined,
    }
    return this.#startHost(writer, { group: 'copy', feedOptions, stateIdentity })
  }

  #startDeletes(
    writer: MigrationWriter<S, T>,
    stateIdentity: string,
  ): Promise<ChangeFeedProcessorHost<S>> {
    const feedOptions: FeedOptions = { mode: 'allVersions' }
    return this.#startHost(writer, { group: 'deletes', feedOptions, stateIdentity })
  }

  async #startHost(
    writer: MigrationWriter<S, T>,
    {
      group,
      feedOptions,
      stateIdentity,
    }: { group: RangeOwner['group']; feedOptions: FeedOptions; stateIdentity: string },
  ): Promise<ChangeFeedProcessorHost<S>> {
    const { name, maxItemCount } = this.#resolved
    const host = jobHost<S>(this.#options, {
      group: group === 'copy' ? name : deletesGroup(name),
      feed: this.#options.source,
      feedOptions: { ...feedOptions, maxItemCount },
      hostOptions: {
        // What is at the target is known from there alone. Positions of a target that was dropped, in the lease
        // store or beside the source, would pass over all that the new one has not got.
        discardExistingLeases: `state ${stateIdentity}`,
        ...this.#options.hostOptions,
      },
      emit: (event) => this.#emit(event),
    })
    host.on('stopped', ({ error }) => this.#life.fail(error))
    await host.registerObserverFactory(
      () => new MigrationObserver(writer, group, (event) => this.#emit(event)),
    )
    return host
  }

  /** Tells the progress at intervals until the worker ends. */
  async #report(watch: MigrationWatch<S>): Promise<void> {
    const { onProgress } = this.#options
    const signal = this.#life.ended
    if (onProgress === undefined) return
    const { clock, progressIntervalMs } = this.#resolved
    while (!signal.aborted) {
      try {
        await clock.sleep(progressIntervalMs, signal)
        onProgress(await watch.progress({ signal }))
      } catch (error) {
        if (!signal.aborted) this.#emit({ kind: 'failure', what: 'progress', error })
      }
    }
  }

  #emit(event: MigrationEvent): void {
    this.#options.onEvent?.(event)
  }
}

/** Stops all of them, also when one fails to. */
async function stopAll<S extends DocumentBody>(
  hosts: readonly ChangeFeedProcessorHost<S>[],
): Promise<void> {
  const ended = await Promise.allSettled(hosts.map((host) => host.unregisterObservers()))
  for (const end of ended) {
    if (end.status === 'fulfilled') continue
    throw end.reason instanceof Error ? end.reason : new Error(String(end.reason))
  }
}
