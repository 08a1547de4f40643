import {
  FULL_RANGE,
  InvalidOptionError,
  type Change,
  type Continuation,
  type DocumentBody,
  type FeedRange,
  type StartPosition,
} from '@tidemark/contracts'
import { resolveItemCount } from '../paging/item-count.ts'

/** Where an iteration begins. A date includes its whole second. */
export type ChangesStart = 'beginning' | 'now' | Date | { readonly continuation: string }

export interface ChangesOptions<T extends DocumentBody> {
  /** "Now" is the moment of the iterator's first `next()`. @default 'now' (as in Cosmos DB) */
  readonly from?: ChangesStart | undefined
  /** Only this part of the collection. @default all of it */
  readonly range?: FeedRange | undefined
  /** Changes of a page, exceeded only to keep a transaction whole. @default 1000 */
  readonly maxItemCount?: number | undefined
  /** False = the iteration ends when it has caught up. @default true */
  readonly follow?: boolean | undefined
  /** Changes for which it returns false are left out; the continuation moves past them (CF-9). */
  readonly filter?: ((change: Change<T>) => boolean) | undefined
  /** @default true */
  readonly pendingDeletes?: boolean | undefined
  /** Ends the iteration: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** One step of an iteration. */
export interface ChangesPage<T extends DocumentBody> {
  /** Of one range, in LSN order. Empty when the filter left none over, and on a closing page. */
  readonly changes: readonly Change<T>[]
  /** Resumes the whole iteration, all its ranges, right after this page. */
  readonly continuation: Continuation
  /** Where these changes are from. */
  readonly range: FeedRange
  /** True when at the time of this page no range of the iteration had more. */
  readonly caughtUp: boolean
}

export interface ResolvedChangesOptions<T extends DocumentBody> {
  readonly start: StartPosition
  readonly range: FeedRange
  readonly maxItems: number
  readonly follow: boolean
  readonly filter: ((change: Change<T>) => boolean) | undefined
  readonly pendingDeletes: boolean
  readonly signal: AbortSignal | undefined
}

/** @throws ERR_INVALID_OPTION */
export function resolveChangesOptions<T extends DocumentBody>(
  options: ChangesOptions<T>,
): ResolvedChangesOptions<T> {
  const { from = 'now', range = FULL_RANGE, follow = true, pendingDeletes = true } = options
  if (!(range.minInclusive < range.maxExclusive)) {
    throw new InvalidOptionError(`range ${range.minInclusive}-${range.maxExclusive} is empty`)
  }
  return {
    start: startPosition(from),
    range,
    maxItems: resolveItemCount(options.maxItemCount),
    follow,
    filter: options.filter,
    pendingDeletes,
    signal: options.signal,
  }
}

function startPosition(from: ChangesStart): StartPosition {
  if (from === 'beginning' || from === 'now') return { kind: from }
  if (typeof from === 'object' && from !== null) {
    if ('continuation' in from) return { kind: 'continuation', continuation: from.continuation }
    const timeMs = from.getTime()
    if (Number.isFinite(timeMs)) return { kind: 'time', timeMs }
  }
  throw new InvalidOptionError(
    `from must be "beginning", "now", a valid date or { continuation }, got ${String(from)}`,
  )
}
