import {
  HostStoppedError,
  type ChangeFeedSource,
  type DocumentBody,
  type RequestOptions,
} from '@tidemark/contracts'
import { jobLogger } from '../workers/job-host.ts'
import { Job, type RunningJob } from '../workers/job.ts'
import { followsDeletes } from '../workers/unseen-deletes.ts'
import type { Folds } from './folds/fold.ts'
import { openView, type View, type ViewValues } from './open-view.ts'
import type { ViewEvent } from './view-events.ts'
import { resolveViewOptions, type ResolvedViewOptions, type ViewOptions } from './view-options.ts'
import type { ViewProgress } from './view-progress.ts'
import type { ViewRecord } from './view-record.ts'
import { ViewRecords, type ClaimedEdition } from './view-records.ts'
import { feedOfSource } from './view-source.ts'
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

/** A build has caught up when its last round took no longer than this, or about as long as the round before. */
const SHORT_MS = 1_000
const CONVERGED = 0.8

class ViewWorker<T extends DocumentBody, F extends Folds<T>>
  extends Job<RunningJob>
  implements MaterializedView<F>
{
  readonly view: View<ViewValues<F>>
  readonly #options: ViewOptions<T, F>
  readonly #resolved: ResolvedViewOptions<T>
  readonly #records: ViewRecords
  #source: ChangeFeedSource<T> | undefined
  #followsLog = false
  #run: ViewRun<T, F> | undefined

  constructor(options: ViewOptions<T, F>, resolved: ResolvedViewOptions<T>) {
    // When it has caught up, what it has built has to be swapped before it stops.
    super('the view', { signal: options.signal })
    this.#options = options
    this.#resolved = resolved
    this.#records = new ViewRecords(options.target.database)
    this.view = openView<ViewValues<F>>(options.target.database, resolved.name)
  }

  async progress({ signal }: RequestOptions = {}): Promise<ViewProgress> {
    return this.#present().progress({ signal })
  }

  /** @throws ERR_HOST_STOPPED */
  #present(): ViewRun<T, F> {
    if (this.running && this.#run !== undefined) return this.#run
    throw new HostStoppedError('the view is between two editions')
  }

  protected async open(): Promise<RunningJob> {
    const { rebuild = false, signal } = this.#options
    const claimed = await this.#claim(rebuild, signal)
    await this.#startRun(claimed)
    const tending = this.#tend(claimed)
    return {
      caughtUp: async (until) => this.#present().caughtUp(until),
      close: async () => {
        await tending
        await this.#run?.close()
      },
    }
  }

  /** The edition to work on, of the source as it is now. */
  async #claim(rebuild: boolean, signal: AbortSignal | undefined): Promise<ClaimedEdition> {
    const { deletes, target } = this.#options
    const { name, version, definition, clock } = this.#resolved
    const source = await feedOfSource(this.#options.source, { signal })
    if (source.identity !== this.#source?.identity) {
      const wanted = { deletes, byDefault: 'apply' } as const
      this.#followsLog = await followsDeletes(source, wanted, {
        job: `view ${target.id}`,
        emit: (event) => this.#emit(event),
        logger: jobLogger(this.#options),
        clock,
        signal,
      })
      this.#source = source
    }
    const folds = definition.folds.map((fold) => `${fold.name}: ${fold.kind}`).join(', ')
    const wanted = { version, source: source.identity, folds }
    const follows = this.#options.source !== source
    return this.#records.claim(name, wanted, { rebuild, follows })
  }

  async #startRun({ edition, role }: ClaimedEdition): Promise<void> {
    if (this.#source === undefined) return
    this.#run = await ViewRun.start({
      options: this.#options,
      source: this.#source,
      resolved: this.#resolved,
      edition,
      followsLog: this.#followsLog,
      emit: (event) => this.#emit(event),
      failed: (error) => this.fail(error),
    })
    const { number, version } = edition
    this.#emit({ kind: 'edition', number, version, role })
  }

  /** Until the worker ends: swaps what was built, follows the view to its next edition, tells the progress. */
  async #tend(claimed: ClaimedEdition): Promise<void> {
    const { ended } = this
    const { clock, progressIntervalMs } = this.#resolved
    let work = claimed
    let catchingUp = this.#catchUp(work, ended)
    while (!ended.aborted) {
      try {
        await clock.sleep(progressIntervalMs, ended)
        const record = await this.#records.read(this.#resolved.name, { signal: ended })
        const { number, version } = work.edition
        const { identity } = await feedOfSource(this.#options.source, { signal: ended })
        const isMoved = identity !== work.edition.source
        if (record?.current.number === number && !isMoved) work = { ...work, role: 'current' }
        else if (record?.building?.number !== number || isMoved) {
          const mine = [record?.current, isMoved ? record?.building : undefined]
          const isWanted = mine.some((edition) => edition?.version === version)
          if (record === undefined || !isWanted || number < record.first) {
            this.#endReplaced(record)
            break
          }
          const run = this.#run
          this.#run = undefined
          await run?.close()
          work = await this.#claim(false, ended)
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
      // Each round has less to do than the one before, until a round is as short as the source is slow.
      for (let lastMs = Infinity, isShorter = true; isShorter;) {
        const startedMs = clock.monotonicMs()
        await run.caughtUp({ signal: ended })
        const roundMs = clock.monotonicMs() - startedMs
        isShorter = roundMs > SHORT_MS && roundMs < lastMs * CONVERGED
        lastMs = roundMs
      }
      if (role === 'building') await this.#swap(run)
    } catch (error) {
      // Its edition may have been replaced: the next one has a wait of its own.
      if (!ended.aborted && this.#run === run) this.fail(error)
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

  #emit(event: ViewEvent): void {
    this.#options.onEvent?.(event)
  }
}
