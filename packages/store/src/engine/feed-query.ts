import type { FeedMode, FeedRange } from '@tidemark/contracts'
import type { FeedRow, VersionRow } from '@tidemark/contracts/internal'
import type { CollectionRecord } from './catalog.ts'
import type { Horizons } from './horizons.ts'

export interface FeedPageQuery {
  readonly collection: CollectionRecord
  readonly range: FeedRange
  readonly afterLsn: number
  /** Maximum number of rows, exceeded only to keep one transaction whole. */
  readonly maxItems: number
  /** A page ends after the transaction that reaches this many characters of body text. */
  readonly maxChars: number
  /** An engine that can stop a read half-way does so, and rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface EngineFeedPage {
  readonly rows: readonly FeedRow[]
  /**
   * Everything up to this LSN was delivered or does not concern the range. With rows, the last row's LSN (CF-7);
   * without, the range's newest, or where the page stopped reading. Also the range's newest when `afterLsn` is above
   * it: the store refuses such a position, which would skip changes.
   */
  readonly lsn: number
  /** The range's newest in the page's snapshot, even if the page ends before it. */
  readonly newestLsn: number
  readonly epoch: number
  /** True when `lsn` is the range's newest. */
  readonly caughtUp: boolean
  /** Highest LSN up to which pending deletes of these keys were purged; 0 = never. */
  readonly horizon: number
  /** The parts of the keys with their horizons; `horizon` is the highest. */
  readonly horizons: Horizons
}

/** As `EngineFeedPage`, for the log of all versions. */
export interface EngineVersionPage {
  readonly rows: readonly VersionRow[]
  readonly lsn: number
  readonly newestLsn: number
  readonly epoch: number
  readonly caughtUp: boolean
  /** Highest LSN up to which the log was trimmed, or was not yet kept. */
  readonly horizon: number
  readonly horizons: Horizons
}

/** How much a reader has before it: what its pages would contain, without the texts. */
export interface FeedCountQuery {
  readonly collection: CollectionRecord
  readonly range: FeedRange
  readonly afterLsn: number
  readonly mode: FeedMode
  /** For latest-version mode: whether pending deletes count. */
  readonly pendingDeletes: boolean
  /** Maximum number of rows to count, exceeded only to keep one transaction whole. */
  readonly maxItems: number
  readonly signal?: AbortSignal | undefined
}

export interface FeedCount {
  /** Rows that were found and read one by one. */
  readonly rows: number
  /** False when there may be more, because of the limit or the engine's own bound on the rows that it reads. */
  readonly isExact: boolean
  /** The range's newest, also when `afterLsn` is above it. */
  readonly newestLsn: number
  /** When the first of the rows was written, epoch ms; exact to the second in latest-version mode. */
  readonly oldestMs: number | undefined
  /** For the requested mode; see `EngineFeedPage`. */
  readonly horizons: Horizons
}

export type FeedStart =
  | { readonly kind: 'beginning' }
  | { readonly kind: 'now' }
  /** Before the first row whose `ts` (epoch seconds) is at least this; now if there is no such row. */
  | { readonly kind: 'time'; readonly ts: number }

export interface StartQuery {
  readonly collection: CollectionRecord
  readonly range: FeedRange
  readonly start: FeedStart
  readonly mode: FeedMode
}

export interface RangeCounter {
  readonly lsn: number
  readonly epoch: number
  /** For the requested mode; see `EngineFeedPage`, `EngineVersionPage`. */
  readonly horizon: number
  readonly horizons: Horizons
}
