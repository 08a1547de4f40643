import {
  InvalidOptionError,
  checkedGroupName,
  systemClock,
  type Clock,
  type DocumentBody,
  type Stored,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionGroup,
  optionOf,
  optionRule,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { AllVersionsOptions, Database } from '@tidemark/store'
import {
  databaseRule,
  jobRules,
  resolvePageItems,
  resolveProgressInterval,
  type JobOptions,
} from '../workers/job-options.ts'
import type { ReadingGroup } from '../workers/job-groups.ts'
import { foldProperties } from './folds/fold-properties.ts'
import type { Folds } from './folds/fold.ts'
import type { ViewDefinition } from './incoming-changes.ts'
import type { ViewEvent } from './view-events.ts'
import type { ViewKey } from './view-key.ts'
import { viewSourceRule, type ViewSource } from './view-source.ts'
import type { ViewProgress } from './view-progress.ts'

/** Where a view is kept. */
export interface ViewTarget {
  /** Of any store. The view also keeps what it remembers in it. */
  readonly database: Database
  /** Name of the view, for `openView`. Part of the names of its collections (`view-<id>-<number>`). */
  readonly id: string
  /** Number of pkranges of its collections. @range 1 to 10_000 @default 1 (the store's) */
  readonly partitionCount?: number | undefined
  /**
   * Keeps the log of all versions of its documents, from which a view over this one reads keys that went.
   * @default no log is kept
   */
  readonly allVersions?: AllVersionsOptions | undefined
}

/** What makes the values of a view. The functions are called again for the same version, and must give the same. */
export interface ViewFunctions<T extends DocumentBody, F extends Folds<T>> {
  /** The key of a document, or several; undefined: it is not in the view, as one that is marked as deleted. */
  readonly by: (document: Stored<T>) => ViewKey | readonly ViewKey[] | null | undefined
  /** What is kept of the documents of a key: one fold, or several by name. */
  readonly fold: F
}

export interface ViewOptions<T extends DocumentBody, F extends Folds<T>>
  extends ViewFunctions<T, F>, JobOptions<ViewEvent> {
  /**
   * Any feed of documents: a collection, a store over HTTP, Azure Cosmos DB; or another view (`openView`): when that one
   * is built again, this one is, too, and readers keep the present one until it has caught up.
   */
  readonly source: ViewSource<T>
  readonly target: ViewTarget
  /** Workers of one group share the work. Part of the names of its lease groups. @default 'view-<database>/<id>' */
  readonly group?: string | undefined
  /**
   * Of `by` and `fold`. Give another one when you change them: the view is built again from the beginning, beside the present
   * one, which its own workers go on keeping. Once it has caught up, readers get the new one. @default '1'
   */
  readonly version?: string | undefined
  /** Builds the view again in the same way, with `version` as it is. @default false */
  readonly rebuild?: boolean | undefined
  /** What happens to the collections of an edition that was replaced. @default 'keep' */
  readonly replaced?: 'keep' | 'drop' | undefined
  /**
   * `apply`: documents that are deleted in the source leave the view. The source must keep its log of all versions
   * (ERR_ALL_VERSIONS_OFF). `ignore`: only documents that `by` leaves out, and
   * those that expire, leave it. Give the same value to all workers.
   *
   * @default 'apply' where the source keeps the log; else 'ignore', and the event `deletesUnseen` at the start, or a line of
   *   the logger without `onEvent`
   */
  readonly deletes?: 'apply' | 'ignore' | undefined
  /**
   * When pending deletes, or entries of the log, were purged before the view had read them: `fail` stops the range until
   * the view is rebuilt, `resync` reads the source from the beginning and goes on. Nothing is counted twice. What is missing
   * in the source leaves the view where it is a collection of a store and `deletes` is not `ignore`; else it counts on.
   * Both tell `missed`. @default 'resync' where what is missing leaves the view, else 'fail'
   */
  readonly onHorizonPassed?: 'fail' | 'resync' | undefined
  /** Maximum number of changes that are read and applied together. @range 1 or more @default 1_000 */
  readonly maxItemCount?: number | undefined
  /** Stops this worker when the view has everything that was committed before, and, if it was being built, readers get it. @default false */
  readonly stopWhenCaughtUp?: boolean | undefined
  /** Called every `progressIntervalMs` while the worker runs. @default nothing is read for it */
  readonly onProgress?: ((progress: ViewProgress) => void) | undefined
  /**
   * Time between two calls of `onProgress`, and between two looks of the worker whether the view has been replaced.
   * @range any number above 0 @default 1_000
   */
  readonly progressIntervalMs?: number | undefined
}

export const viewFunctionRules: OptionRules<ViewFunctions<never, never>> = {
  by: requiredOption(option.function),
  fold: requiredOption(
    optionRule(
      'a fold or an object of folds',
      (value) => typeof value === 'object' && value !== null,
    ),
  ),
}

const RULES: OptionRules<ViewOptions<never, never>> = {
  ...viewFunctionRules,
  ...jobRules,
  source: requiredOption(viewSourceRule),
  target: requiredOption(
    optionGroup<ViewTarget>({
      database: databaseRule,
      id: requiredOption(option.text),
      partitionCount: option.number,
      // The store looks at it.
      allVersions: option.anything,
    }),
  ),
  group: option.text,
  version: option.text,
  rebuild: option.flag,
  replaced: optionOf('keep', 'drop'),
  deletes: optionOf('apply', 'ignore'),
  onHorizonPassed: optionOf('fail', 'resync'),
  maxItemCount: option.number,
  stopWhenCaughtUp: option.flag,
  onProgress: option.function,
  progressIntervalMs: option.number,
}

const MAX_NAME = 80

export interface ResolvedViewOptions<T extends DocumentBody> {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly definition: ViewDefinition<T>
  readonly maxItemCount: number
  readonly progressIntervalMs: number
  readonly clock: Clock
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveViewOptions<T extends DocumentBody, F extends Folds<T>>(
  options: ViewOptions<T, F>,
): ResolvedViewOptions<T> {
  checkOptions(options, RULES)
  const { target, by, fold, version = '1', clock = systemClock } = options
  const maxItemCount = resolvePageItems(options.maxItemCount)
  const progressIntervalMs = resolveProgressInterval(options.progressIntervalMs)
  const name = checkedViewName(target.id)
  const group = checkedGroupName(options.group ?? defaultViewGroup(target.database, name))
  const definition = { by, folds: foldProperties(fold) }
  return { name, group, version, definition, maxItemCount, progressIntervalMs, clock }
}

/** @throws ERR_INVALID_OPTION when it cannot be part of a collection's id */
export function checkedViewName(id: string): string {
  if (/^[^/\\?#]+$/.test(id) && id.length <= MAX_NAME && id.trim() === id) return id
  throw new InvalidOptionError(
    `the id of a view must have 1 to ${MAX_NAME} characters, none of / \\ ? # and no space at its ends, ` +
      `got ${JSON.stringify(id)}`,
  )
}

/** Views of several databases may have one name, and one lease store. */
export function defaultViewGroup({ id }: Database, name: string): string {
  return `view-${id}/${name}`
}

/** The lease groups of an edition. */
export function viewGroups(
  group: string,
  number: number,
  { followsLog }: { readonly followsLog: boolean },
): readonly ReadingGroup[] {
  const name = checkedGroupName(number === 1 ? group : `${group}/${number}`)
  const documents = { role: 'documents', group: name } as const
  if (!followsLog) return [documents]
  const deletes = checkedGroupName(`${name}/deletes`)
  const feedOptions = { mode: 'allVersions' } as const
  return [documents, { role: 'deletes', group: deletes, feedOptions }]
}
