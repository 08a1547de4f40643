import { HostStoppedError, type DocumentBody, type RequestOptions } from '@tidemark/contracts'
import { JobLife, type RunningJob } from '../workers/job-life.ts'
import { jobLogger } from '../workers/job-host.ts'
import { tellUnseenDeletes } from '../workers/unseen-deletes.ts'
import { keepsLog, readLogNow } from './deletes-source.ts'
import type { Folds } from './folds/fold.ts'
import { openView, type View, type ViewValues } from './open-view.ts'
import type { ViewEvent } from './view-events.ts'
import { resolveViewOptions, type ResolvedViewOptions, type ViewOptions } from './view-options.ts'
import type { ViewProgress } from './view-progress.ts'
import type { ViewRecord } from './view-record.ts'
import { ViewRecords, type ClaimedEdition } from './view-records.ts'
import { ViewRun } from './view-run.ts'

/** One worker of a view. */
export interface MaterializedView<F extends Folds<never>> extends AsyncDisposable {
  /**
   * Creates what is missing, joins the view's workers and resolves; the view is kept in the background.
   *
   * Rejects with ERR_VIEW_MISMATCH when the view is kept in another way, ERR_ALL_VERSIONS_OFF, and errors of the lease store
   * or the stores. Then nothing is running.
   */
  start(): Promise<void>
  /** To read it. The same as `openView`. */
  readonly view: View<ViewValues<F>>
  /** The progress of the edition that this worker works on, over all workers. */
  progress(options?: RequestOptions): Promise<ViewProgress>
  /** Resolves when that edition has everything that was committed to the source before the call. */
  caughtUp(options?: RequestOptions): Promise<void>
  /**
   * Resolves when this worker has stopped: by `stop`, the signal, `stopWhenCaughtUp`, or because another version has
   * replaced its own (event `replaced`). Rejects if it stopped because of an error.
   */
  readonly finished: Promise<void>
  /** Finishes batches in flight, hands the ranges over and ends. A later worker continues from what is stored. */
  stop(): Promise<void>
}

/**
 * Keeps a collection of aggregates of a source, one document for each key, and right (JB-3): under repeated batches,
 * restarts, splits, late workers, updates that move a document to another key, expiry and deletes. Any number of processes
 * with the same `group` share the work by leases.
 *
 * Effectively once: each commit holds the values, what each document of the source counts for, and a fence.
 * Construction starts nothing.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function materializeView<T extends DocumentBody, const F extends Folds<T>>(
  options: ViewOptions<T, F>,
): MaterializedView<F> {
  return new ViewWorker(options, resolveViewOptions(options))
}

/** A build has caught up when the last of it took no longer than this. */
const SHORT_MS = 1_000

class ViewWorker<T extends DocumentBody, F extends Folds<T>> implements MaterializedView<F> {
  readonly view: View<ViewValues<F>>
  readonly #options: ViewOptions<T, F>
  readonly #resolved: ResolvedViewOptions<T>
  readonly #life: JobLife<RunningJob>
  readonly #records: ViewRecords
  readonly #finished = Promise.withResolvers<void>()
  #followsLog = false
  #run: ViewRun<T, F> | undefined

  constructor(options: ViewOptions<T, F>, resolved: ResolvedViewOptions<T>) {
    this.#options = options
    this.#resolved = resolved
    this.#life = new JobLife('the view', options.signal)
    this.#records = new ViewRecords(options.target.database)
    this.view = openView<ViewValues<F>>(options.target.database, resolved.name)
    // Whoever does not ask is not to be disturbed.
    this.#finished.promise.catch(() => {})
  }

  get finished(): Promise<void> {
    return this.#finished.promise
  }

  start(): Promise<void> {
    return this.#life.start(() => this.#open())
  }

  async progress({ signal }: RequestOptions = {}): Promise<ViewProgress> {
    return this.#running().progress({ signal })
  }

  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    await this.#running().caughtUp(this.#life.untilEnded(signal))
  }

  async stop(): Promise<void> {
    await this.#life.stop()
    // It may never have been started.
    this.#finished.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #running(): ViewRun<T, F> {
    this.#life.running()
    if (this.#run === undefined) throw new HostStoppedError('the view is between two editions')
    return this.#run
  }

  async #open(): Promise<RunningJob> {
    const { deletes, source, signal, rebuild = false } = this.#options
    if (deletes === 'apply') await readLogNow(source, signal)
    this.#followsLog =
      deletes === 'apply' || (deletes === undefined && (await keepsLog(source, signal)))
    if (deletes === undefined && !this.#followsLog) this.#tellUnseenDeletes()
    const claimed = await this.#claim(rebuild)
    await this.#startRun(claimed)
    const tending = this.#tend(claimed)
    return {
      close: async () => {
        try {
          await tending
          await this.#run?.close()
          this.#finished.resolve()
        } catch (error) {
          this.#finished.reject(error)
          throw error
        }
      },
    }
  }

  #claim(rebuild: boolean): Promise<ClaimedEdition> {
    const { name, version, definition } = this.#resolved
    const folds = definition.folds.map((fold) => `${fold.name}: ${fold.kind}`).join(', ')
    const wanted = { version, source: this.#options.source.identity, folds }
    return this.#records.claim(name, wanted, { rebuild })
  }

  async #startRun({ edition, role }: ClaimedEdition): Promise<void> {
    this.#run = await ViewRun.start({
      options: this.#options,
      resolved: this.#resolved,
      edition,
      followsLog: this.#followsLog,
      emit: (event) => this.#emit(event),
      failed: (error) => this.#fail(error),
    })
    const { number, version } = edition
    this.#emit({ kind: 'edition', number, version, role })
  }

  /** Until the worker ends: swaps what was built, follows the view to its next edition, tells the progress. */
  async #tend(claimed: ClaimedEdition): Promise<void> {
    const { ended } = this.#life
    const { clock, progressIntervalMs } = this.#resolved
    let work = claimed
    let catchingUp = this.#catchUp(work, ended)
    while (!ended.aborted) {
      try {
        await clock.sleep(progressIntervalMs, ended)
        const record = await this.#records.read(this.#resolved.name, { signal: ended })
        const { number, version } = work.edition
        if (record?.current.number === number) work = { ...work, role: 'current' }
        else if (record?.building?.number !== number) {
          if (record?.current.version !== version || number < record.first) {
            this.#endReplaced(record)
            break
          }
          const run = this.#run
          this.#run = undefined
          await run?.close()
          work = await this.#claim(false)
        }
        // Also when an earlier attempt has failed.
        if (this.#run === undefined) {
          await this.#startRun(work)
          await catchingUp
          catchingUp = this.#catchUp(work, ended)
        }
        await this.#report(ended)
      } catch (error) {
        if (!ended.aborted) this.#emit({ kind: 'failure', what: 'record', error })
      }
    }
    await catchingUp
  }

  async #catchUp({ role }: ClaimedEdition, ended: AbortSignal): Promise<void> {
    const run = this.#run
    const { clock } = this.#resolved
    const { stopWhenCaughtUp = false } = this.#options
    if (run === undefined || (role === 'current' && !stopWhenCaughtUp)) return
    try {
      for (;;) {
        const startedMs = clock.monotonicMs()
        await run.caughtUp(ended)
        if (clock.monotonicMs() - startedMs <= SHORT_MS) break
      }
      if (role === 'building') await this.#swap(run)
    } catch (error) {
      // Its edition may have been replaced: the next one has a wait of its own.
      if (!ended.aborted && this.#run === run) this.#fail(error)
      return
    }
    // It waits for this.
    if (stopWhenCaughtUp) this.stop().catch(() => {})
  }

  async #swap({ edition }: ViewRun<T, F>): Promise<void> {
    const { name } = this.#resolved
    if (!(await this.#records.swap(name, edition))) return
    const { number, version } = edition
    this.#emit({ kind: 'swapped', number, version })
    if (this.#options.replaced === 'drop') await this.#records.dropSome(name, 'replaced')
  }

  #endReplaced(record: ViewRecord | undefined): void {
    this.#emit({ kind: 'replaced', version: record?.current.version })
    // It waits for this.
    this.stop().catch(() => {})
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { onProgress } = this.#options
    if (onProgress === undefined || this.#run === undefined) return
    try {
      onProgress(await this.#run.progress({ signal }))
    } catch (error) {
      if (!signal.aborted) this.#emit({ kind: 'failure', what: 'progress', error })
    }
  }

  #tellUnseenDeletes(): void {
    const { source, target } = this.#options
    const unseen = { kind: 'deletesUnseen', source: source.description, isLogKept: false } as const
    tellUnseenDeletes(`view ${target.id}`, unseen, {
      emit: (event) => this.#emit(event),
      logger: jobLogger(this.#options),
      clock: this.#resolved.clock,
    })
  }

  #fail(error: unknown): void {
    this.#finished.reject(error)
    this.#life.fail(error)
  }

  #emit(event: ViewEvent): void {
    this.#options.onEvent?.(event)
  }
}
