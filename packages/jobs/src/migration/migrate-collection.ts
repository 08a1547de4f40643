import { HostStoppedError, type DocumentBody, type RequestOptions } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { readAllProgress } from '../effectively-once/ledger.ts'
import { reconciler } from '../effectively-once/reconcile.ts'
import { OnceObserver } from '../effectively-once/once-observer.ts'
import { JobGroups, type JobGroupsOptions } from '../workers/job-groups.ts'
import { jobLogger, type RangeEventBase } from '../workers/job-host.ts'
import { startOfDeletes } from '../workers/job-source.ts'
import { Job, type RunningJob } from '../workers/job.ts'
import { followsDeletes } from '../workers/unseen-deletes.ts'
import type { MigrationEvent } from './migration-events.ts'
import { migrationGroups, reconciles } from './migration-groups.ts'
import {
  resolveMigrationOptions,
  type MigrationOptions,
  type ResolvedMigrationOptions,
} from './migration-options.ts'
import type { MigrationProgress } from './migration-progress.ts'
import { MigrationWatch } from './migration-watch.ts'
import { migrationWriter, type AppliedPage } from './migration-writer.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { openMigrationStorage } from './open-migration-storage.ts'

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
  /**
   * Resolves when this worker has stopped: by `stop` or the signal. Rejects if it stopped because of an error.
   */
  readonly finished: Promise<void>
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

class MigrationWorker<S extends DocumentBody, T extends DocumentBody>
  extends Job<Running<S>>
  implements Migration<T>
{
  readonly #options: MigrationOptions<S, T>
  readonly #resolved: ResolvedMigrationOptions
  #target: Collection<T> | undefined

  constructor(options: MigrationOptions<S, T>, resolved: ResolvedMigrationOptions) {
    super('the migration', options)
    this.#options = options
    this.#resolved = resolved
  }

  get target(): Collection<T> {
    if (this.#target === undefined) throw new HostStoppedError('the migration has not started')
    return this.#target
  }

  async progress(options: RequestOptions = {}): Promise<MigrationProgress> {
    return this.running.watch.progress(options)
  }

  async cutOver({ signal }: RequestOptions = {}): Promise<MigrationProgress> {
    return this.running.watch.cutOver({ signal: this.untilEnded(signal) })
  }

  protected async open(): Promise<Running<S>> {
    const options = this.#options
    const { source, job } = options
    const { clock, name } = this.#resolved
    const emit = (event: MigrationEvent): void => this.#emit(event)
    const telling = { job: `migration ${job}`, logger: jobLogger(options), emit, clock }
    const wanted = { deletes: options.deletes, byDefault: 'ignore' } as const
    const followsLog = await followsDeletes(source, wanted, telling)
    const storage = await openMigrationStorage(options, name)
    this.#target = storage.target
    const groups = await JobGroups.start<S>({
      options,
      source,
      ...(await this.#work(storage, followsLog)),
      emit,
      failed: (error) => this.fail(error),
    })
    const { watched } = groups
    const watch = new MigrationWatch<S>({ job, source, groups: watched, ledger: storage, clock })
    const reporting = this.#report(watch)
    return {
      watch,
      caughtUp: (until) => groups.caughtUp(until),
      async close() {
        try {
          await groups.close()
        } finally {
          await reporting
        }
      },
    }
  }

  async #work(
    storage: MigrationStorage<S, T>,
    followsLog: boolean,
  ): Promise<Pick<JobGroupsOptions<S>, 'groups' | 'reconcile'>> {
    const { source, mapDocument, hostOptions, hostName, deletes: wanted } = this.#options
    const { name, maxItemCount } = this.#resolved
    const pendingDeletes = storage.carrier !== undefined
    const writer = migrationWriter(storage, mapDocument)
    const canMiss = reconciles(wanted, { pendingDeletes, followsLog })
    const reconcile = canMiss
      ? reconciler(source, { writer, note: storage.note, hostName })
      : undefined
    const isBegun = (await readAllProgress(storage)).length > 0
    const deletes = followsLog && {
      ...(await startOfDeletes(source, { isBegun })),
      onHorizonPassed: 'resync' as const,
    }
    const documents = {
      startFromBeginning: true,
      pendingDeletes,
      // Most pending deletes that were purged unseen are of copies that have expired by themselves.
      onHorizonPassed: pendingDeletes ? 'resync' : undefined,
    } as const
    const groups = migrationGroups(name, { pendingDeletes, followsLog }).map((group) => ({
      ...group,
      feedOptions: {
        ...(group.role === 'deletes' ? deletes : documents),
        maxItemCount,
      },
      hostOptions: {
        // What is at the target is known from there alone. Positions of a target that was dropped, in the lease
        // store or beside the source, would pass over all that the new one has not got.
        discardExistingLeases: `state ${storage.entries.identity}`,
        ...hostOptions,
      },
      observe: () =>
        new OnceObserver<S, AppliedPage['counts'], AppliedPage['notes'][number]>({
          group: group.role,
          writer,
          applied: (applied, of) => this.#tell(applied, of),
          fenced: (event) => this.#emit(event),
        }),
    }))
    return { groups, reconcile }
  }

  #tell(
    { counts, notes, changes, replays }: AppliedPage & { readonly changes: number },
    of: RangeEventBase,
  ): void {
    for (const collision of notes) this.#emit({ kind: 'collision', ...collision })
    const { documents, updates, moves, expired, deleted } = counts
    // Of the log of all versions most entries are none of its business.
    if (documents + updates + expired + deleted + replays === 0) return
    const done = { changes, documents, updates, moves, expired, deleted, replays }
    this.#emit({ kind: 'applied', ...of, ...done })
  }

  /** Tells the progress at intervals until the worker ends. */
  async #report(watch: MigrationWatch<S>): Promise<void> {
    const { onProgress } = this.#options
    const signal = this.ended
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
