import type { DocumentBody } from '../documents/document.ts'
import type { Change } from './change.ts'
import type { Continuation, FeedMode } from './continuation.ts'
import type { StartPosition } from './start-position.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { Lsn } from '../ranges/lsn.ts'
import type { PkRangeId } from '../ranges/pk-range.ts'

/** A resume position with the number that orders positions of one range. Lease stores compare only `lsn`. */
export interface FeedPosition {
  readonly continuation: Continuation
  readonly lsn: Lsn
}

export interface FeedPage<T extends DocumentBody = DocumentBody> extends FeedPosition {
  /** In LSN order. May be empty although more follows: a page examines a bounded number of slots. */
  readonly changes: readonly Change<T>[]
  /** True when nothing lies between `lsn` and the newest commit. With no changes: "not modified". */
  readonly caughtUp: boolean
}

export interface FeedPageRequest {
  /** An interval within one current pkrange; else ERR_RANGE_GONE. */
  readonly range: FeedRange
  readonly continuation: string
  /** Maximum number of changes, exceeded only to keep one transaction whole (CF-7). Absent or -1 = the source's choice. */
  readonly maxItemCount?: number | undefined
  /** For latest-version mode. @default true in process */
  readonly pendingDeletes?: boolean | undefined
  /** The continuation must be of the same mode. @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  readonly signal?: AbortSignal | undefined
}

export interface FeedWaitRequest {
  readonly range: FeedRange
  readonly continuation: string
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface FeedStartRequest {
  readonly range: FeedRange
  readonly start: StartPosition
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  readonly signal?: AbortSignal | undefined
}

export interface PositionAtRequest {
  readonly range: FeedRange
  readonly lsn: Lsn
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  /**
   * Continuation of a page of this range that has the LSN: the new position then has the purges that the reader of
   * this page knew. @default none
   */
  readonly page?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface FeedLagRequest {
  readonly range: FeedRange
  readonly continuation: string
  /** Maximum number of changes to count, exceeded only to keep one transaction whole. @default 1_000 */
  readonly limit?: number | undefined
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  /** As for the reader. @default true in process */
  readonly pendingDeletes?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface DivideRangeRequest {
  readonly range: FeedRange
  /** Of parts at most. */
  readonly count: number
  readonly signal?: AbortSignal | undefined
}

/** The position of a reader in a feed range, which need not be a whole pkrange. */
export interface HeldPosition {
  readonly range: FeedRange
  readonly continuation: string
}

export interface JoinPositionsRequest {
  /** Two or more, in EPK order; each starts where the previous one ends. */
  readonly positions: readonly HeldPosition[]
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  readonly signal?: AbortSignal | undefined
}

/** The position of a processor group in one feed range. */
export interface GroupPosition {
  readonly group: string
  readonly range: FeedRange
  readonly lsn: Lsn
}

/**
 * Durable positions of processor groups, kept with the feed: for purges (TTL-14), copies of leases and recovery. The
 * last report of a range counts, also a lower one; other ranges keep their positions.
 */
export interface GroupPositions {
  report(positions: readonly GroupPosition[]): Promise<void>
  /** Disjoint ranges in EPK order; keys without a report are missing. */
  read(group: string): Promise<readonly GroupPosition[]>
}

/** How much is left for a reader. See `ChangeFeedSource.measureLag`. */
export interface FeedLag {
  /** LSN of the newest commit in the range. */
  readonly newestLsn: Lsn
  /** Number of remaining changes; if `isExact` is false, there are at least this many. */
  readonly remainingChanges: number
  readonly isExact: boolean
  /**
   * Commit time of the first remaining change, epoch ms, as precise as the feed stores it; undefined without one.
   */
  readonly oldestChangeMs: number | undefined
}

/** What differs between feeds, as data. */
export interface FeedSupport {
  /** `waitForChanges` wakes on a commit; without it readers poll. */
  readonly waiting: boolean
  /** A child's feed carries its parent's changes, so that a parent's continuation is valid on it. */
  readonly childrenCarryParentChanges: boolean
  /**
   * Continuations are Tidemark's, so `cutPage` can cut a page: a reader that is behind may ask for several of its pages at
   * once (CF-16). @default false
   */
  readonly cuttable?: boolean | undefined
  /** It can be read with every version and delete, where the collection keeps them. @default false */
  readonly allVersions?: boolean | undefined
}

/** A current range of a feed, with the id of its pkrange, if the feed has such ids. */
export interface SourceRange extends FeedRange {
  readonly id?: PkRangeId | undefined
}

/**
 * A partitioned change feed: a Tidemark store, a store over HTTP, Azure Cosmos DB, or your own. The processor uses
 * nothing else of a feed.
 */
export interface ChangeFeedSource<T extends DocumentBody = DocumentBody> {
  /** Identity of the monitored collection; equals its `DocumentCollection.identity`. */
  readonly identity: string
  /** For people: the collection's path or name. */
  readonly description: string
  readonly supports: FeedSupport
  readonly positions?: GroupPositions | undefined

  /**
   * `_rid` of the collection, as its continuations have it: a collection that is dropped and created again under its name
   * gets another one. Groups keep it with their leases, so that none follows two feeds. Absent = this is not known, and
   * not checked.
   *
   * Rejects with ERR_NOT_FOUND.
   */
  readRid?(options?: { signal?: AbortSignal | undefined }): Promise<string>
  /** The current ranges, in EPK order; they cover every key. */
  readFeedRanges(options?: { signal?: AbortSignal | undefined }): Promise<readonly SourceRange[]>
  /**
   * Cuts an interval into at most `count` parts with about as many keys each, in EPK order; fewer where it has fewer
   * keys. Reads no documents. Present iff intervals within a pkrange can be read (`leasesPerRange`).
   */
  divideRange?(request: DivideRangeRequest): Promise<readonly FeedRange[]>
  /**
   * Resolves a start position: "now" becomes the LSN of this moment.
   *
   * Rejects with ERR_INVALID_CONTINUATION if a given continuation does not fit.
   */
  resolveStart(request: FeedStartRequest): Promise<FeedPosition>
  /**
   * The position directly after `lsn`: an LSN that was a position of this range, or of a range that contained it, or
   * the LSN of one of its changes. Only for feeds that can turn LSNs into positions.
   *
   * An LSN does not say which purges its reader knew. Without `page`, a reader of the new position is warned of all
   * purges above it (`readPage`, ERR_HORIZON_PASSED): there can be a warning too many, but never one too few.
   *
   * Rejects with ERR_INVALID_OPTION when it is no LSN, with ERR_INVALID_CONTINUATION when it is above the
   * range's newest, with ERR_RANGE_GONE.
   */
  positionAt?(request: PositionAtRequest): Promise<FeedPosition>
  /**
   * How much is left for a reader at `continuation`, counted up to `limit` changes. Costs at most as much as a page
   * of that many changes. Absent if a feed can only be read.
   *
   * Rejects as `readPage`.
   */
  measureLag?(request: FeedLagRequest): Promise<FeedLag>
  /**
   * One page. Rejects with ERR_RANGE_GONE after a split (its successors are named), and with
   * ERR_HORIZON_PASSED when changes were purged before this reader read them: always in
   * all-versions mode, in latest-version mode only for readers of pending deletes (TTL-15).
   */
  readPage(request: FeedPageRequest): Promise<FeedPage<T>>
  /**
   * Resolves to true as soon as there may be changes after `continuation`, to false after `timeoutMs`.
   * A hint: the reader reads again either way. Present iff `supports.waiting`.
   */
  waitForChanges?(request: FeedWaitRequest): Promise<boolean>
  /**
   * One position for neighbouring ranges that were merged into one current range. This is possible once they are at
   * the same LSN, above everything that was written before the merge. Undefined if it is not possible, or not yet.
   */
  joinPositions?(request: JoinPositionsRequest): Promise<FeedPosition | undefined>
}
