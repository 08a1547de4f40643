import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { JobGroups } from '../workers/job-groups.ts'
import { Job } from '../workers/job.ts'
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

class ArchiveWorker<T extends DocumentBody> extends Job<JobGroups<T>> implements ExpiryArchive {
  readonly #options: ArchiveOptions<T>
  readonly #resolved: ResolvedArchiveOptions
  #archived = 0
  #batches = 0

  constructor(options: ArchiveOptions<T>, resolved: ResolvedArchiveOptions) {
    super('the archive', options)
    this.#options = options
    this.#resolved = resolved
  }

  get group(): string {
    return this.#resolved.group
  }

  async progress({ signal }: RequestOptions = {}): Promise<ArchiveProgress> {
    const [{ pendingDeletes, unswept }, { total: lag }] = await Promise.all([
      this.#options.source.readExpiry({ signal, withinSeconds: [] }),
      this.running.watched.lag({ signal }),
    ])
    return { archived: this.#archived, batches: this.#batches, pendingDeletes, unswept, lag }
  }

  async retire(): Promise<void> {
    await this.stop()
    await this.#options.source.removeWaitingGroup(this.group)
  }

  protected async open(): Promise<JobGroups<T>> {
    const options = this.#options
    const { source, sink, onHorizonPassed } = options
    const { group, maxItemCount } = this.#resolved
    const emit = (event: ArchiveEvent): void => this.#emit(event)
    // First of all: what is purged while leases are made would be missing.
    const { rid } = await source.addWaitingGroup(group)
    emit({ kind: 'registered', group })
    await sink.open?.(source, { signal: options.signal })
    const { description } = source
    const startFromBeginning = true
    const pendingDeletes = true
    return JobGroups.start<T>({
      options,
      source,
      groups: [
        {
          role: 'documents',
          group,
          feedOptions: { startFromBeginning, maxItemCount, pendingDeletes, onHorizonPassed },
          missed: emit,
          observe: () => new ArchiveObserver({ rid, description }, sink, emit),
        },
      ],
      emit,
      failed: (error) => this.fail(error),
    })
  }

  #emit(event: ArchiveEvent): void {
    if (event.kind === 'archived') {
      this.#archived += event.documents
      this.#batches += 1
    }
    this.#options.onEvent?.(event)
  }
}
