import type { CommitOutcome, CommitRequest } from './commit.ts'
import type {
  CollectionDefinition,
  CollectionRecord,
  DatabaseRecord,
  RangeRecord,
} from './catalog.ts'
import type { DefinitionChanges } from './definition-changes.ts'
import type {
  EngineFeedPage,
  EngineVersionPage,
  FeedCount,
  FeedCountQuery,
  FeedPageQuery,
  RangeCounter,
  StartQuery,
} from './feed-query.ts'
import type { MaintenanceEngine } from './maintenance.ts'
import type { DocumentKey, ScanPage, ScanQuery, StoredRow } from './document-query.ts'
import type { FeedRange, GroupPosition } from '@tidemark/contracts'

/** What differs between engines, as data. */
export interface EngineSupport {
  /** `single`: one process at a time may open it. `many`: any number, on one machine or several. */
  readonly processes: 'single' | 'many'
  /** An acknowledged commit survives the death of every process. */
  readonly durable: boolean
}

/** The log of writes of an embedded engine stays above its bound, or is short again. */
export interface EngineNotice {
  readonly kind: 'logHeld' | 'logFreed'
  readonly databaseId: string
  readonly bytes: number
}

/**
 * Keeps documents, their order and the catalog; knows nothing of JSON paths, options or users.
 *
 * One engine is one store. Everything rejects with a `CodedError`: ERR_STORE_CLOSED after `close`,
 * ERR_STORE_UNAVAILABLE, ERR_STORE_DAMAGED, and those named at the methods.
 */
export interface StorageEngine {
  /** For people: `memory`, or the folder or URL without secrets. */
  readonly description: string
  /** Random, made with the store, never changes. */
  readonly storeId: string
  readonly supports: EngineSupport

  /** Says who is told what the engine notices by itself, from now on. An engine that never does has none. */
  listen?(listener: (notice: EngineNotice) => void): void

  listDatabases(): Promise<readonly DatabaseRecord[]>
  /** Its record as it is now; undefined when there is none. */
  readDatabase(id: string): Promise<DatabaseRecord | undefined>
  /** Rejects with ERR_EXISTS. */
  createDatabase(
    id: string,
    options?: { readonly annotation?: string | undefined },
  ): Promise<DatabaseRecord>
  /**
   * Gives a database another annotation, and its record another etag; every process sees it at once. Rejects with
   * ERR_NOT_FOUND when the database is gone, also when another has its name, and with ERR_PRECONDITION_FAILED when
   * `ifMatch` is given and is not the present record's.
   */
  annotateDatabase(
    database: DatabaseRecord,
    annotation: string,
    options?: { readonly ifMatch?: string | undefined },
  ): Promise<DatabaseRecord>
  /** Rejects with ERR_NOT_FOUND. Deletes its collections too. */
  deleteDatabase(id: string): Promise<void>
  /** Rejects with ERR_NOT_FOUND. Opening twice gives the same one. */
  openDatabase(id: string): Promise<DatabaseEngine>
  /** Finishes what was accepted, then frees everything. Idempotent. */
  close(): Promise<void>
}

/** One database: the unit of atomic commits. */
export interface DatabaseEngine extends MaintenanceEngine {
  /** As it was when the database was opened: id and `_rid` are for ever, the rest is what `readDatabase` says. */
  readonly record: DatabaseRecord

  listCollections(): Promise<readonly CollectionRecord[]>
  readCollection(id: string): Promise<CollectionRecord | undefined>
  /** Creates it with one pkrange for each of `ranges`, which cover every key. Rejects with ERR_EXISTS. */
  createCollection(
    id: string,
    definition: CollectionDefinition,
    ranges: readonly FeedRange[],
  ): Promise<CollectionRecord>
  /**
   * Changes a collection's definition; it acts at once, in every process. Rejects with ERR_NOT_FOUND, with
   * ERR_INVALID_OPTION, as `changedRecord` says, and with ERR_PRECONDITION_FAILED when `ifMatch` is given and
   * is not the present record's.
   */
  updateCollection(
    collection: CollectionRecord,
    changes: DefinitionChanges,
    options?: { readonly ifMatch?: string | undefined },
  ): Promise<CollectionRecord>
  /** Rejects with ERR_NOT_FOUND. Documents, ranges and positions go with it. */
  deleteCollection(id: string): Promise<void>
  /** Present pkranges in EPK order. Rejects with ERR_NOT_FOUND when the collection is gone. */
  listRanges(collection: CollectionRecord): Promise<readonly RangeRecord[]>
  /**
   * Puts two ranges in the place of one, which meet at `at` (ST-9). A change of metadata: no document
   * moves, LSNs go on above the parent's, and positions in the parent are valid in both. Rejects with
   * ERR_RANGE_GONE when the range is not present, with ERR_INVALID_OPTION when `at` is not inside it.
   */
  splitRange(request: {
    readonly collection: CollectionRecord
    readonly range: number
    readonly at: string
  }): Promise<readonly [RangeRecord, RangeRecord]>
  /**
   * Puts one range in the place of two neighbours. LSNs go on above both. Rejects with ERR_RANGE_GONE
   * when one is not present, with ERR_INVALID_OPTION when they are not neighbours in EPK order.
   */
  mergeRanges(request: {
    readonly collection: CollectionRecord
    readonly ranges: readonly [number, number]
  }): Promise<RangeRecord>
  /**
   * The EPK of the document in the middle of a range's live documents, moved to the next that lets each
   * side have one; undefined when all have the same EPK, or there is none. Rejects with ERR_RANGE_GONE.
   */
  middleEpk(collection: CollectionRecord, range: number): Promise<string | undefined>
  /** Live documents of a range that have not expired, and the bytes of their text. Rejects with ERR_RANGE_GONE. */
  measureRange(
    collection: CollectionRecord,
    range: number,
  ): Promise<{ readonly documents: number; readonly bytes: number }>

  /**
   * Applies all batches atomically and durably, or none. Each batch gets the next LSN of its pkrange
   * (ST-5). Resolves when the commit is durable and visible to every reader.
   *
   * A precondition that fails is an outcome, not a rejection, and never touches other commits.
   */
  commit(request: CommitRequest): Promise<CommitOutcome>
  /** The live document of a key; an expired one is none (TTL-4), here as in everything below. */
  readDocument(key: DocumentKey): Promise<StoredRow | undefined>
  /** Live documents of a range of keys in (EPK, partition key text, id) order, in one snapshot. */
  scan(query: ScanQuery): Promise<ScanPage>
  /**
   * Number of live documents. An engine that reads on the caller's thread may count in steps, each of an instant of
   * its own: what stays is counted once, what changes meanwhile may or may not be.
   */
  countDocuments(collection: CollectionRecord): Promise<number>
  /**
   * One page of a feed, from one snapshot (CF-7): never part of a transaction, never a row above a
   * commit that is not visible. Rejects with ERR_RANGE_GONE, naming successors, when `range` is not
   * inside one present pkrange.
   */
  readFeedPage(query: FeedPageQuery): Promise<EngineFeedPage>
  /**
   * One page of the log of all versions, under the rules of `readFeedPage`. Rejects with
   * ERR_ALL_VERSIONS_OFF too.
   */
  readVersionPage(query: FeedPageQuery): Promise<EngineVersionPage>
  /**
   * Counts what a reader has before it, as far as its limit, in steps as `countDocuments`. Of a primary, also where pages come from
   * a replica. Rejects as `readFeedPage`, `readVersionPage`.
   */
  countFeed(query: FeedCountQuery): Promise<FeedCount>
  /** The LSN after which a reader begins. Rejects as `readFeedPage`, `readVersionPage`. */
  resolveStart(query: StartQuery): Promise<RangeCounter>
  /**
   * The LSN above which every commit in `range` lies in its present pkrange's own segment: positions at
   * or above it may be joined after a merge. Rejects with ERR_RANGE_GONE.
   */
  firstOwnLsn(collection: CollectionRecord, range: FeedRange): Promise<number>
  /** Stores how far processor groups have come; see `GroupPositions`. */
  reportPositions(collection: CollectionRecord, positions: readonly GroupPosition[]): Promise<void>
  readPositions(collection: CollectionRecord, group: string): Promise<readonly GroupPosition[]>
  /**
   * Resolves true when the pkrange that holds `range` has a commit above `afterLsn` (at once if it
   * has one already), false after `timeoutMs`; rejects with the signal's reason on abort. Wakes within
   * milliseconds of a commit in this process, and in another one if `supports.processes` is `many`.
   */
  waitForCommit(request: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean>
  /** The store's clock, epoch ms: never goes back, and is never below what any commit was given. */
  nowMs(): number
  /** Looks for contradictions between documents, indexes, ranges and counters. Reads everything. */
  check(): Promise<readonly string[]>
}
