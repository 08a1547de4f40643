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
  /** An interval within one present pkrange; else ERR_RANGE_GONE. */
  readonly range: FeedRange
  readonly continuation: string
  /** Upper bound of changes, exceeded only to keep one transaction whole (CF-7). Absent or -1 = the source's choice. */
  readonly maxItemCount?: number | undefined
  /** Of latest-version mode. @default true in process */
  readonly pendingDeletes?: boolean | undefined
  /** What is read; the continuation must be of the same mode. @default 'latestVersion' */
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
   * Continuation of a page of this range that holds the LSN: the position knows of the purges that whoever read this
   * page knew of. @default none
   */
  readonly page?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface FeedLagRequest {
  readonly range: FeedRange
  readonly continuation: string
  /** Changes that are counted at most, exceeded only to keep one transaction whole. @default 1_000 */
  readonly limit?: number | undefined
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  /** As of the reader. @default true in process */
  readonly pendingDeletes?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Where a reader stands in a feed range that need not be a whole pkrange. */
export interface HeldPosition {
  readonly range: FeedRange
  readonly continuation: string
}

export interface JoinPositionsRequest {
  /** Two or more, in EPK order, each beginning where the one before ends. */
  readonly positions: readonly HeldPosition[]
  /** @default 'latestVersion' */
  readonly mode?: FeedMode | undefined
  readonly signal?: AbortSignal | undefined
}

/** How far a processor group has come in one feed range. */
export interface GroupPosition {
  readonly group: string
  readonly range: FeedRange
  readonly lsn: Lsn
}

/**
 * Durable positions of processor groups, kept beside the feed: for purge (TTL-14), mirror and recovery.
 * The last report of a range counts, also a lower one; what it does not cover keeps its position.
 */
export interface GroupPositions {
  report(positions: readonly GroupPosition[]): Promise<void>
  /** Disjoint ranges in EPK order; what no report covered is missing. */
  read(group: string): Promise<readonly GroupPosition[]>
}

/** What a reader has before it. See `ChangeFeedSource.measureLag`. */
export interface FeedLag {
  /** Of the newest commit in the range. */
  readonly newestLsn: Lsn
  /** Changes that are not read yet; at least this many if `isExact` is false. */
  readonly remainingChanges: number
  readonly isExact: boolean
  /**
   * Commit time of the first change that is not read yet, epoch ms, as exact as the feed keeps it; undefined when
   * none was found.
   */
  readonly oldestChangeMs: number | undefined
}

/** What differs between feeds, as data. */
export interface FeedSupport {
  /** `waitForChanges` wakes on a commit; without it readers poll. */
  readonly waiting: boolean
  /** A child's feed carries its parent's changes, so that a parent's continuation is valid on it. */
  readonly childrenCarryParentChanges: boolean
}

/** A present range of a feed, with the id of the pkrange that it is, where the feed has such ids. */
export interface SourceRange extends FeedRange {
  readonly id?: PkRangeId | undefined
}

/**
 * A partitioned change feed, whatever is behind it: our store, our store over HTTP, Azure Cosmos DB.
 * All that the processor knows of a feed.
 */
export interface ChangeFeedSource<T extends DocumentBody = DocumentBody> {
  /** Identity of the monitored collection; equals `DocumentCollection.identity` for the same one. */
  readonly identity: string
  /** For people: the collection's path or name. */
  readonly description: string
  readonly supports: FeedSupport
  readonly positions?: GroupPositions | undefined

  /** The present ranges, in EPK order; they cover every key. */
  readFeedRanges(options?: { signal?: AbortSignal | undefined }): Promise<readonly SourceRange[]>
  /**
   * Pins a start position: "now" becomes the LSN of this moment.
   *
   * Rejects with ERR_INVALID_CONTINUATION if a given continuation does not fit.
   */
  resolveStart(request: FeedStartRequest): Promise<FeedPosition>
  /**
   * The position right behind everything up to `lsn`: an LSN that was a position of this range, or of one
   * that contained it, or the LSN of one of its changes. Present where positions can be made from LSNs alone.
   *
   * Which purges a reader there knew of an LSN does not say, so that without `page` this one is told of all above
   * it: an alarm too many is possible (`readPage`, ERR_HORIZON_PASSED), one too few is not.
   *
   * Rejects with ERR_INVALID_OPTION when it is no LSN, with ERR_INVALID_CONTINUATION when it is above the
   * range's newest, with ERR_RANGE_GONE.
   */
  positionAt?(request: PositionAtRequest): Promise<FeedPosition>
  /**
   * How much a reader at `continuation` has before it, counted up to `limit` changes. Costs at most one page
   * of so many changes. Absent where a feed can only be read.
   *
   * Rejects as `readPage`.
   */
  measureLag?(request: FeedLagRequest): Promise<FeedLag>
  /**
   * One page. Rejects with ERR_RANGE_GONE after a split (its successors are named), and with
   * ERR_HORIZON_PASSED when something that this reader has not seen was purged: always in
   * all-versions mode, in latest-version mode only for readers of pending deletes (TTL-15).
   */
  readPage(request: FeedPageRequest): Promise<FeedPage<T>>
  /**
   * Resolves true as soon as something after `continuation` may be there, false after `timeoutMs`.
   * A hint: the reader reads again either way. Present iff `supports.waiting`.
   */
  waitForChanges?(request: FeedWaitRequest): Promise<boolean>
  /**
   * One position for neighbouring ranges that were merged into one present range: possible once they
   * stand at the same LSN and above everything that was written before the merge. Undefined when it is
   * not, or not yet.
   */
  joinPositions?(request: JoinPositionsRequest): Promise<FeedPosition | undefined>
}
