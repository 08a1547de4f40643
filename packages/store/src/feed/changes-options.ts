import {
  FULL_RANGE,
  InvalidOptionError,
  checkedStart,
  type Change,
  type Continuation,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
  type Resynchronization,
  type StartPosition,
} from '@tidemark/contracts'
import { checkOptions, option, optionOf, type OptionRules } from '@tidemark/contracts/internal'
import { resolveItemCount } from '../paging/item-count.ts'

export interface ChangesOptions<T extends DocumentBody> {
  /**
   * `allVersions`: every create, replace and delete, of a collection that keeps the log of all versions. A continuation
   * belongs to one mode. @default 'latestVersion'
   */
  readonly mode?: FeedMode | undefined
  /** "Now" is the moment of the iterator's first `next()`. @default 'now' (as in Cosmos DB) */
  readonly from?: StartPosition | undefined
  /** Only this part of the collection. @default the whole collection */
  readonly range?: FeedRange | undefined
  /**
   * Maximum number of changes of a page, exceeded only to keep a transaction whole. A page has at most about 5000.
   * @unit changes @range 1 or more; or -1: the store's choice @default 1000
   */
  readonly maxItemCount?: number | undefined
  /** False = the iteration ends when it has caught up. @default true */
  readonly follow?: boolean | undefined
  /** Leaves out changes for which it returns false. The continuation moves past them (CF-9). @default none */
  readonly filter?: ((change: Change<T>) => boolean) | undefined
  /** For latest-version mode: delivers expired documents as pending deletes. @default true */
  readonly pendingDeletes?: boolean | undefined
  /**
   * What to do when something was purged that this reader has not seen. `fail`: reject with ERR_HORIZON_PASSED.
   * `resync`: read that range again from the beginning, and report it in `ChangesPage.resynchronized`. @default 'fail'
   */
  readonly onHorizonPassed?: 'fail' | 'resync' | undefined
  /** Ends the iteration: it rejects with the signal's reason. @default none */
  readonly signal?: AbortSignal | undefined
}

/** One step of an iteration. */
export interface ChangesPage<T extends DocumentBody> {
  /** Of one range, in LSN order. Empty when the filter removed all changes, and on a closing page. */
  readonly changes: readonly Change<T>[]
  /** Resumes the whole iteration, with all its ranges, right after this page. */
  readonly continuation: Continuation
  /** The range of these changes. */
  readonly range: FeedRange
  /** True when, at the time of this page, no range of the iteration had more changes. */
  readonly caughtUp: boolean
  /**
   * On the first page of a range that is read again from the beginning. Delete what you keep of `resynchronized.range`
   * and do not get again by `untilLsn`.
   */
  readonly resynchronized?: Resynchronization
}

export interface ResolvedChangesOptions<T extends DocumentBody> {
  readonly mode: FeedMode
  readonly start: StartPosition
  readonly range: FeedRange
  readonly maxItems: number
  readonly follow: boolean
  readonly filter: ((change: Change<T>) => boolean) | undefined
  readonly pendingDeletes: boolean
  readonly onHorizonPassed: 'fail' | 'resync'
  readonly signal: AbortSignal | undefined
}

const RULES: OptionRules<ChangesOptions<never>> = {
  mode: option.anything,
  from: option.anything,
  range: option.anything,
  maxItemCount: option.anything,
  follow: option.flag,
  filter: option.function,
  pendingDeletes: option.flag,
  onHorizonPassed: optionOf('fail', 'resync'),
  signal: option.signal,
}

/** @throws ERR_INVALID_OPTION */
export function resolveChangesOptions<T extends DocumentBody>(
  options: ChangesOptions<T>,
): ResolvedChangesOptions<T> {
  checkOptions(options, RULES)
  const { from = 'now', range = FULL_RANGE, follow = true, pendingDeletes = true } = options
  if (!(range.minInclusive < range.maxExclusive)) {
    throw new InvalidOptionError(`range ${range.minInclusive}-${range.maxExclusive} is empty`)
  }
  return {
    mode: checkedFeedMode(options.mode),
    start: checkedStart('from', from),
    range,
    maxItems: resolveItemCount(options.maxItemCount),
    follow,
    filter: options.filter,
    pendingDeletes,
    onHorizonPassed: options.onHorizonPassed ?? 'fail',
    signal: options.signal,
  }
}

/** @throws ERR_INVALID_OPTION */
export function checkedFeedMode(mode: FeedMode = 'latestVersion'): FeedMode {
  if (mode === 'latestVersion' || mode === 'allVersions') return mode
  throw new InvalidOptionError(
    `mode must be "latestVersion" or "allVersions", got ${JSON.stringify(mode)}`,
  )
}
