import {
  ResourceNotFoundError,
  StoreClosedError,
  type Clock,
  type FeedRange,
  type GroupPosition,
} from '@tidemark/contracts'
import { type DocumentVersion } from '@tidemark/contracts/internal'
import type {
  CollectionDefinition,
  CollectionRecord,
  CommitOutcome,
  CommitRequest,
  DatabaseEngine,
  DatabaseRecord,
  DefinitionChanges,
  DocumentKey,
  EngineFeedPage,
  EngineVersionPage,
  ExpiryView,
  FeedCount,
  FeedCountQuery,
  FeedPageQuery,
  MaintenanceOutcome,
  MaintenanceTask,
  MaintenanceView,
  RangeCounter,
  RangeRecord,
  ScanPage,
  ScanQuery,
  StartQuery,
} from '@tidemark/store/engine'
import type { MessageEngine } from '@tidemark/store/messages'
import type { DatabaseRow } from './catalog/database-row.ts'
import { checkDatabase } from './reader/check-database.ts'
import { DocumentReads } from './reader/document-reads.ts'
import { readExpiry } from './reader/expiry-view.ts'
import { countFeed } from './reader/count-feed.ts'
import { readFeedPage, readVersionPage } from './reader/feed-pages.ts'
import { maintain, releaseMaintenance } from './maintenance/maintain.ts'
import { readMaintenance } from './maintenance/maintenance-view.ts'
import { listCollections } from './reader/read-catalog.ts'
import type { ReadContext } from './reader/read-context.ts'
import { countDocuments, measureRange, middleEpk } from './reader/range-size.ts'
import { resolveStart } from './reader/resolve-start.ts'
import { scanDocuments } from './reader/scan-documents.ts'
import { PostgresMessages } from './messages/postgres-messages.ts'
import { CommitWatch } from './wakeup/commit-watch.ts'
import type { Touched, TouchedRange } from './wakeup/touched-range.ts'
import { changeCollection, insertCollection, removeCollection } from './writer/collection-writes.ts'
import { CommitGroups } from './writer/commit-groups.ts'
import { readPositions, storePositions } from './writer/position-writes.ts'
import { mergeRanges, splitRange } from './writer/range-writes.ts'
import { UnsyncedCommits } from './writer/unsynced-commits.ts'

/** How often listeners for messages look without notifications. */
const MESSAGE_POLL_MS = 1_000

export interface PostgresDatabaseParts {
  readonly context: ReadContext
  readonly clock: Clock
  readonly maxPendingCommits: number
  readonly maxGroupOperations: number
  readonly segmentSlots: number
  readonly pollIntervalMs: () => number
  /** See `CommitWatchOptions`. */
  readonly hearsAllSinceMs: () => number | undefined
  readonly maxReplicaLagMs: number
  /** Whether other processes' commits of messages are reported. */
  readonly hears: () => boolean
  /** See `MessageSqlParts`. */
  readonly firstSlot: number
  /** Called after each commit of this process, and after each change of ranges. */
  readonly onCommit: (
    touched: Touched,
    timeMs: number | undefined,
    options?: { readonly isUrgent: boolean },
  ) => void
}

/** One database: the rows with its number in the tables of a store. */
export class PostgresDatabase implements DatabaseEngine {
  readonly #database: DatabaseRow
  readonly #parts: PostgresDatabaseParts
  readonly #messages: PostgresMessages
  readonly #context: ReadContext
  readonly #reads: DocumentReads
  readonly #groups: CommitGroups
  readonly #unsynced: UnsyncedCommits
  readonly #watch: CommitWatch
  #ended: Error | undefined

  constructor(database: DatabaseRow, parts: PostgresDatabaseParts) {
    this.#database = database
    this.#parts = parts
    this.#context = parts.context
    this.#reads = new DocumentReads(parts.context)
    this.#watch = new CommitWatch(parts)
    this.#messages = new PostgresMessages(database, {
      ...parts,
      pollIntervalMs: MESSAGE_POLL_MS,
      onCommitted: (entities, timeMs) => parts.onCommit({ ranges: [], entities }, timeMs),
    })
    this.#unsynced = new UnsyncedCommits(parts)
    this.#groups = new CommitGroups({
      ...parts,
      unsynced: this.#unsynced,
      database: database.number,
      messages: this.#messages,
      // Who needs it at once has it synced.
      onCommitted: (touched, timeMs, { isSynced }) => this.#tell(touched, timeMs, isSynced),
    })
  }

  get record(): DatabaseRecord {
    return this.#database.record
  }

  get maxPendingCommits(): number {
    return this.#parts.maxPendingCommits
  }

  get messages(): MessageEngine {
    return this.#messages
  }

  async listCollections(): Promise<readonly CollectionRecord[]> {
    return listCollections(this.#open(), this.#database)
  }

  async readCollection(id: string): Promise<CollectionRecord | undefined> {
    return (await this.listCollections()).find((record) => record.id === id)
  }

  async createCollection(
    id: string,
    definition: CollectionDefinition,
    ranges: readonly FeedRange[],
  ): Promise<CollectionRecord> {
    const { number } = this.#database
    const request = { id, definition, ranges }
    return insertCollection(this.#open(), { ...this.record, number }, request)
  }

  async updateCollection(
    collection: CollectionRecord,
    changes: DefinitionChanges,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<CollectionRecord> {
    const database = this.#database.number
    return changeCollection(this.#open(), collection, { changes, ifMatch, database })
  }

  async deleteCollection(id: string): Promise<void> {
    const context = this.#open()
    const record = await this.readCollection(id)
    if (record === undefined) throw new ResourceNotFoundError('collection', id)
    await removeCollection(context, record)
    this.#tell([], undefined)
    this.#watch.recheck()
  }

  async listRanges(collection: CollectionRecord): Promise<readonly RangeRecord[]> {
    const { ranges } = await this.#open().collections.refresh(collection)
    return ranges.map(({ number, minInclusive, maxExclusive, parents, segment, ts }) => {
      return { number, minInclusive, maxExclusive, parents, segment, ts }
    })
  }

  async splitRange(request: {
    readonly collection: CollectionRecord
    readonly range: number
    readonly at: string
  }): Promise<readonly [RangeRecord, RangeRecord]> {
    const children = await splitRange(this.#open(), request)
    this.#rangesChanged()
    return children
  }

  async mergeRanges(request: {
    readonly collection: CollectionRecord
    readonly ranges: readonly [number, number]
  }): Promise<RangeRecord> {
    const merged = await mergeRanges(this.#open(), request)
    this.#rangesChanged()
    return merged
  }

  async middleEpk(collection: CollectionRecord, range: number): Promise<string | undefined> {
    return middleEpk(this.#open(), collection, range)
  }

  async measureRange(
    collection: CollectionRecord,
    range: number,
  ): Promise<{ readonly documents: number; readonly bytes: number }> {
    return measureRange(this.#open(), collection, range)
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    this.#open()
    return this.#groups.commit(request)
  }

  async flush(): Promise<void> {
    this.#open()
    return this.#unsynced.flush()
  }

  async readDocument(key: DocumentKey): Promise<DocumentVersion | undefined> {
    this.#open()
    return this.#reads.read(key)
  }

  async scan(query: ScanQuery): Promise<ScanPage> {
    return scanDocuments(this.#open(), query)
  }

  async countDocuments(collection: CollectionRecord): Promise<number> {
    return countDocuments(this.#open(), collection)
  }

  async readFeedPage(query: FeedPageQuery): Promise<EngineFeedPage> {
    return readFeedPage(this.#open(), query)
  }

  async readVersionPage(query: FeedPageQuery): Promise<EngineVersionPage> {
    return readVersionPage(this.#open(), query)
  }

  async countFeed(query: FeedCountQuery): Promise<FeedCount> {
    return countFeed(this.#open(), query)
  }

  async resolveStart(query: StartQuery): Promise<RangeCounter> {
    return resolveStart(this.#open(), query)
  }

  async firstOwnLsn(record: CollectionRecord, wanted: FeedRange): Promise<number> {
    const { collections } = this.#open()
    await collections.refresh(record)
    return collections.inRange(record, wanted, async ({ range: { segments } }) =>
      segments.length === 1 ? 0 : (segments.at(-1)?.base ?? 0),
    )
  }

  async reportPositions(
    collection: CollectionRecord,
    positions: readonly GroupPosition[],
  ): Promise<void> {
    await storePositions(this.#open(), collection, positions)
  }

  async readPositions(
    collection: CollectionRecord,
    group: string,
  ): Promise<readonly GroupPosition[]> {
    return readPositions(this.#open(), collection, group)
  }

  async readMaintenance(): Promise<MaintenanceView> {
    return readMaintenance(this.#open(), this.#database.number)
  }

  async maintain(request: {
    readonly holder: string
    readonly leaseMs: number
    readonly maxItems: number
    readonly task?: MaintenanceTask | undefined
  }): Promise<MaintenanceOutcome> {
    const context = this.#open()
    const { outcome, touched } = await maintain(context, this.#database.number, request)
    if (touched.length > 0) this.#tell(touched, undefined)
    return outcome
  }

  async releaseMaintenance(holder: string): Promise<void> {
    await releaseMaintenance(this.#open(), this.#database.number, holder)
  }

  async readExpiry(
    collection: CollectionRecord,
    options: { readonly withinSeconds: readonly number[] },
  ): Promise<ExpiryView> {
    return readExpiry(this.#open(), collection, options)
  }

  async waitForCommit(request: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    this.#open()
    return this.#watch.wait(request)
  }

  nowMs(): number {
    return this.#context.clock.nowMs()
  }

  async check(): Promise<readonly string[]> {
    return checkDatabase(this.#open(), this.#database)
  }

  /** Another process has committed something. */
  rung(touched: Touched): void {
    if (this.#ended !== undefined) return
    if (touched === 'anything') {
      this.#watch.rung([])
      this.#messages.rung(undefined)
    } else {
      const { ranges, entities } = touched
      if (ranges.length > 0) this.#watch.rung(ranges)
      if (entities.length > 0) this.#messages.rung(entities)
    }
  }

  /** Other processes' commits are not reported from here on. */
  deafened(): void {
    if (this.#ended === undefined) this.#messages.deafened()
  }

  /** Finishes accepted calls. All later calls fail with `error`. */
  async end(error: Error = new StoreClosedError('the store was closed')): Promise<void> {
    this.#ended ??= error
    await this.#watch.end(this.#ended)
    await this.#messages.end(this.#ended)
    await this.#groups.drain()
    await this.#unsynced.end()
  }

  #rangesChanged(): void {
    this.#tell([], undefined)
    this.#watch.recheck()
  }

  #tell(touched: readonly TouchedRange[], timeMs: number | undefined, isUrgent = true): void {
    this.#watch.committed(touched)
    this.#parts.onCommit(
      touched.length === 0 ? 'anything' : { ranges: touched, entities: [] },
      timeMs,
      { isUrgent },
    )
  }

  /** The context of all operations, as long as the database is open. */
  #open(): ReadContext {
    if (this.#ended !== undefined) throw this.#ended
    return this.#context
  }
}
