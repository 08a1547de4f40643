import type { ChangeFeedSource, DocumentBody, RequestOptions } from '@tidemark/contracts'
import { readAllProgress } from '../effectively-once/ledger.ts'
import { reconciler } from '../effectively-once/reconcile.ts'
import { OnceObserver } from '../effectively-once/once-observer.ts'
import { JobGroups, type JobGroupsOptions, type WorkingGroup } from '../workers/job-groups.ts'
import { startOfDeletes } from '../workers/job-source.ts'
import type { RunningJob } from '../workers/job.ts'
import type { Folds } from './folds/fold.ts'
import { openViewStorage, type OpenedViewStorage } from './open-view-storage.ts'
import type { ViewCounts } from './state-documents.ts'
import type { ViewEvent } from './view-events.ts'
import { viewGroups, type ResolvedViewOptions, type ViewOptions } from './view-options.ts'
import { readViewProgress, type ViewProgress } from './view-progress.ts'
import type { ViewEdition } from './view-record.ts'
import { viewWriter } from './view-writer.ts'

/** What a run needs of its worker. */
export interface ViewRunOptions<T extends DocumentBody, F extends Folds<T>> {
  readonly options: ViewOptions<T, F>
  readonly source: ChangeFeedSource<T>
  readonly resolved: ResolvedViewOptions<T>
  readonly edition: ViewEdition
  /** Whether deletes come from the log of all versions. */
  readonly followsLog: boolean
  readonly emit: (event: ViewEvent) => void
  /** A host ended by itself. */
  readonly failed: (error: unknown) => void
}

/** The work on one edition of a view: its hosts, and what measures them. */
export class ViewRun<T extends DocumentBody, F extends Folds<T>> implements RunningJob {
  readonly edition: ViewEdition
  readonly #name: string
  readonly #storage: OpenedViewStorage
  readonly #groups: JobGroups<T>

  private constructor(
    { resolved, edition }: ViewRunOptions<T, F>,
    storage: OpenedViewStorage,
    groups: JobGroups<T>,
  ) {
    this.edition = edition
    this.#name = resolved.name
    this.#storage = storage
    this.#groups = groups
  }

  /** Rejects with errors of the stores; then nothing is running. */
  static async start<T extends DocumentBody, F extends Folds<T>>(
    run: ViewRunOptions<T, F>,
  ): Promise<ViewRun<T, F>> {
    const { options, resolved, edition, emit, failed } = run
    const { database, id: _, ...settings } = options.target
    const storage = await openViewStorage(database, resolved.name, edition, settings)
    const groups = await JobGroups.start<T>({
      options,
      source: run.source,
      ...(await workOf(run, storage)),
      emit,
      failed,
    })
    return new ViewRun(run, storage, groups)
  }

  progress(options: RequestOptions = {}): Promise<ViewProgress> {
    const storage = this.#storage
    const watched = { name: this.#name, edition: this.edition, storage }
    return readViewProgress({ ...watched, groups: this.#groups.watched }, options)
  }

  /** Resolves when the view has everything that was committed to the source before the call. */
  caughtUp(options: RequestOptions): Promise<void> {
    return this.#groups.caughtUp(options)
  }

  close(): Promise<void> {
    return this.#groups.close()
  }
}

async function workOf<T extends DocumentBody, F extends Folds<T>>(
  { options, source, resolved, edition, followsLog, emit }: ViewRunOptions<T, F>,
  storage: OpenedViewStorage,
): Promise<Pick<JobGroupsOptions<T>, 'groups' | 'reconcile'>> {
  const { hostOptions, hostName } = options
  const { definition, maxItemCount } = resolved
  const writer = viewWriter<T>(storage, definition)
  const reconcile =
    options.deletes === 'ignore'
      ? undefined
      : reconciler(source, { writer, note: storage.note, hostName })
  const { onHorizonPassed = reconcile && 'resync' } = options
  const isBegun = (await readAllProgress(storage)).length > 0
  const deletes = followsLog && {
    ...(await startOfDeletes(source, { isBegun })),
    onHorizonPassed,
  }
  const documents = {
    startFromBeginning: true,
    // The log has the expiries, too, but not those that waited when it was turned on. What comes twice is a replay.
    pendingDeletes: true,
    // What was purged is in the log.
    onHorizonPassed: followsLog ? 'resync' : onHorizonPassed,
  } as const
  const groups = viewGroups(resolved.group, edition.number, { followsLog }).map(
    (group): WorkingGroup<T> => ({
      ...group,
      feedOptions: {
        ...(group.role === 'deletes' ? deletes : documents),
        maxItemCount,
      },
      hostOptions: {
        // What is in the view is known from there alone: positions of one that was dropped would pass over all of it.
        discardExistingLeases: `state ${storage.identity}`,
        ...hostOptions,
      },
      missed:
        followsLog && group.role === 'documents'
          ? undefined
          : ({ leaseId, epoch, action }) => emit({ kind: 'missed', leaseId, epoch, action }),
      observe: () =>
        new OnceObserver<T, ViewCounts, never>({
          group: group.role,
          writer,
          applied: ({ counts, changes, replays }, of) =>
            emit({ kind: 'applied', ...of, changes, ...counts, replays }),
          fenced: emit,
        }),
    }),
  )
  return { groups, reconcile }
}
