import type { CommitBatch, CommitOutcome, CommitRequest } from './commit.ts'
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
import type { MessageEngine } from '../messages/message-engine.ts'
import type { MaintenanceEngine } from './maintenance.ts'
import type { DocumentKey, ScanPage, ScanQuery } from './document-query.ts'
import type { FeedRange, GroupPosition, Presence } from '@tidemark/contracts'
import type { DocumentVersion } from '@tidemark/contracts/internal'

/** The differences between engines, as data. */
export interface EngineSupport {
  /** `single`: one process at a time may open it. `many`: any number, on one machine or several. */
  readonly processes: 'single' | 'many'
  /** An acknowledged commit survives the death of every process. */
  readonly durable: boolean
}

/** The log of writes of an embedded engine stays above its limit, or is short again. */
export interface EngineNotice {
  readonly kind: 'logHeld' | 'logFreed'
  readonly databaseId: string
  readonly bytes: number
}

/**
 * Stores documents, their order and the catalog. It has no notion of JSON paths, options or users.
 *
 * One engine is one store. Every method rejects with a `CodedError`: ERR_STORE_CLOSED after `close`,
 * ERR_STORE_UNAVAILABLE, ERR_STORE_DAMAGED, and the errors named at the methods.
 */
export interface StorageEngine {
  /** For display: `memory`, or the folder or URL without secrets. */
  readonly description: string
  /** A random id. It is created with the store and never changes. */
  readonly storeId: string
  readonly supports: EngineSupport
  /** How processes on one machine that have the store open know of each other's death. Absent where they cannot. */
  readonly presence?: Presence | undefined

  /**
   * Sets the listener for the engine's own notices from now on. An engine that never sends any does not have this
   * method.
   */
  listen?(listener: (notice: EngineNotice) => void): void

  listDatabases(): Promise<readonly DatabaseRecord[]>
  /** The present record; undefined when there is no such database. */
  readDatabase(id: string): Promise<DatabaseRecord | undefined>
  /** Rejects with ERR_EXISTS. */
  createDatabase(
    id: string,
    options?: { readonly annotation?: string | undefined },
  ): Promise<DatabaseRecord>
  /**
   * Gives a database another annotation, and its record another etag. Every process sees the change at once. Rejects
   * with ERR_NOT_FOUND when the database is gone, also when another database has its name, and with
   * ERR_PRECONDITION_FAILED when `ifMatch` is given and is not the etag of the present record.
   */
  annotateDatabase(
    database: DatabaseRecord,
    annotation: string,
    options?: { readonly ifMatch?: string | undefined },
  ): Promise<DatabaseRecord>
  /** Rejects with ERR_NOT_FOUND. Deletes its collections too. */
  deleteDatabase(id: string): Promise<void>
  /** Rejects with ERR_NOT_FOUND. A second call returns the same object. */
  openDatabase(id: string): Promise<DatabaseEngine>
  /** Finishes what it has accepted, then releases all resources. Idempotent. */
  close(): Promise<void>
}

/** One database: the unit of atomic commits. */
export interface DatabaseEngine extends MaintenanceEngine {
  /** As of the moment when the database was opened. Id and `_rid` never change; for the rest call `readDatabase`. */
  readonly record: DatabaseRecord

  listCollections(): Promise<readonly CollectionRecord[]>
  readCollection(id: string): Promise<CollectionRecord | undefined>
  /** Creates the collection with one pkrange for each of `ranges`, which cover every key. Rejects with ERR_EXISTS. */
  createCollection(
    id: string,
    definition: CollectionDefinition,
    ranges: readonly FeedRange[],
  ): Promise<CollectionRecord>
  /**
   * Changes a collection's definition, at once and in every process. Rejects with ERR_NOT_FOUND, with
   * ERR_INVALID_OPTION as `changedRecord` does, and with ERR_PRECONDITION_FAILED when `ifMatch` is given and is not the
   * etag of the present record.
   */
  updateCollection(
    collection: CollectionRecord,
    changes: DefinitionChanges,
    options?: { readonly ifMatch?: string | undefined },
  ): Promise<CollectionRecord>
  /** Also deletes its documents, ranges and positions. Rejects with ERR_NOT_FOUND. */
  deleteCollection(id: string): Promise<void>
  /** Present pkranges in EPK order. Rejects with ERR_NOT_FOUND when the collection is gone. */
  listRanges(collection: CollectionRecord): Promise<readonly RangeRecord[]>
  /**
   * Replaces a range by two that meet at `at` (ST-9). Only metadata changes: no document moves, LSNs continue above the
   * parent's, and positions in the parent are valid in both children. Rejects with ERR_RANGE_GONE when the range is not
   * present, with ERR_INVALID_OPTION when `at` is not inside it.
   */
  splitRange(request: {
    readonly collection: CollectionRecord
    readonly range: number
    readonly at: string
  }): Promise<readonly [RangeRecord, RangeRecord]>
  /**
   * Replaces two neighbouring ranges by one. LSNs continue above both. Rejects with ERR_RANGE_GONE when one is not
   * present, with ERR_INVALID_OPTION when they are not neighbours in EPK order.
   */
  mergeRanges(request: {
    readonly collection: CollectionRecord
    readonly ranges: readonly [number, number]
  }): Promise<RangeRecord>
  /**
   * The EPK of the document in the middle of a range's live documents, moved to the next EPK that leaves at least one
   * document on each side. Undefined when all documents have the same EPK, or there are none. Rejects with
   * ERR_RANGE_GONE.
   */
  middleEpk(collection: CollectionRecord, range: number): Promise<string | undefined>
  /**
   * Number of a range's live documents that have not expired, and the bytes of their text. Rejects with ERR_RANGE_GONE.
   */
  measureRange(
    collection: CollectionRecord,
    range: number,
  ): Promise<{ readonly documents: number; readonly bytes: number }>

  /**
   * Applies all batches atomically and durably, or none. Each batch gets the next LSN of its pkrange (ST-5). Resolves
   * when the commit is durable and visible to every reader.
   *
   * A precondition that fails is an outcome, not a rejection, and never affects other commits.
   */
  commit(request: CommitRequest): Promise<CommitOutcome>
  /** More commits that wait are refused with ERR_STORE_UNAVAILABLE. Absent where none are. */
  readonly maxPendingCommits?: number | undefined
  /**
   * Each batch as a commit of its own, begun in this order: one entry each, with what would reject it. Absent where many
   * calls of `commit` at once cost no more.
   */
  commitEach?(batches: readonly CommitBatch[]): Promise<readonly (CommitOutcome | Error)[]>
  /**
   * Resolves when every commit that this handle acknowledged before the call is on disk, also those with `sync: false`.
   * Absent where each is at once.
   */
  flush?(): Promise<void>
  /** The live document of a key. An expired one counts as missing (TTL-4), here and in all methods below. */
  readDocument(key: DocumentKey): Promise<DocumentVersion | undefined>
  /** Live documents of a range of keys in (EPK, partition key text, id) order, in one snapshot. */
  scan(query: ScanQuery): Promise<ScanPage>
  /**
   * Number of live documents. An engine that reads on the caller's thread can count in steps, each at an instant of its
   * own. A document that does not change is counted once; one that changes meanwhile may or may not be counted.
   */
  countDocuments(collection: CollectionRecord): Promise<number>
  /**
   * One page of a feed, from one snapshot (CF-7). It never contains part of a transaction, or a row above a commit that
   * is not visible. Rejects with ERR_RANGE_GONE, naming successors, when `range` is not inside one present pkrange.
   */
  readFeedPage(query: FeedPageQuery): Promise<EngineFeedPage>
  /** One page of the log of all versions, under the rules of `readFeedPage`. Also rejects with ERR_ALL_VERSIONS_OFF. */
  readVersionPage(query: FeedPageQuery): Promise<EngineVersionPage>
  /**
   * Counts what a reader has before it, up to its limit, in steps as `countDocuments`. Always reads from a primary,
   * even where pages come from a replica. Rejects as `readFeedPage`, `readVersionPage`.
   */
  countFeed(query: FeedCountQuery): Promise<FeedCount>
  /** The LSN after which a reader begins. Rejects as `readFeedPage`, `readVersionPage`. */
  resolveStart(query: StartQuery): Promise<RangeCounter>
  /**
   * The LSN above which every commit in `range` is in the present pkrange's own segment. Positions at or above it can
   * be joined after a merge. Rejects with ERR_RANGE_GONE.
   */
  firstOwnLsn(collection: CollectionRecord, range: FeedRange): Promise<number>
  /** Stores how far processor groups have come; see `GroupPositions`. */
  reportPositions(collection: CollectionRecord, positions: readonly GroupPosition[]): Promise<void>
  readPositions(collection: CollectionRecord, group: string): Promise<readonly GroupPosition[]>
  /**
   * Resolves true when the pkrange that holds `range` has a commit above `afterLsn` (at once if it already has one),
   * and false after `timeoutMs`. Rejects with the signal's reason on abort. Wakes within milliseconds of a commit in
   * this process, and in another process if `supports.processes` is `many`.
   */
  waitForCommit(request: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean>
  /** Queues, topics and subscriptions: tables of their own in the same database. */
  readonly messages: MessageEngine
  /** The store's clock, epoch ms. It never goes back, and is never below the time of any commit. */
  nowMs(): number
  /** Finds contradictions between documents, indexes, ranges and counters. Reads everything. */
  check(): Promise<readonly string[]>
}
