import {
  type DocumentVersion,
  ResourceExistsError,
  ResourceNotFoundError,
  StoreClosedError,
  type Clock,
  type FeedRange,
  type GroupPosition,
} from '@tidemark/contracts'
import type {
  CollectionDefinition,
  CollectionRecord,
  DatabaseRecord,
  RangeRecord,
} from '../engine/catalog.ts'
import type { CommitOutcome, CommitRequest } from '../engine/commit.ts'
import { annotatedDatabase, type DefinitionChanges } from '../engine/definition-changes.ts'
import type { DocumentKey, ScanPage, ScanQuery } from '../engine/document-query.ts'
import { refusingEpoch, withFence, type FenceRecord } from '../engine/fence-check.ts'
import type {
  EngineFeedPage,
  EngineVersionPage,
  FeedCount,
  FeedCountQuery,
  FeedPageQuery,
  RangeCounter,
  StartQuery,
} from '../engine/feed-query.ts'
import type { ExpiryView, MaintenanceOutcome, MaintenanceView } from '../engine/maintenance.ts'
import { collectionRid, recordEtag } from '../engine/resource-ids.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { applyBatch } from './apply-commit.ts'
import { checkCollection } from './check-collection.ts'
import { planCommit } from './commit-plan.ts'
import { expiryView } from './due-upkeep.ts'
import { MemoryCollection } from './memory-collection.ts'
import { MemoryMaintenance } from './memory-maintenance.ts'
import { countDocuments, measureRange, middleEpk, scanDocuments } from './query-documents.ts'
import type { StoreClock } from './store-clock.ts'

/**
 * One database in memory. Every method does its work before it first yields to the event loop, so commits are atomic
 * and a page is one snapshot.
 */
export class MemoryDatabase implements DatabaseEngine {
  #record: DatabaseRecord
  readonly #clock: Clock
  readonly #storeClock: StoreClock
  readonly #collections = new Map<string, MemoryCollection>()
  readonly #byNumber = new Map<number, MemoryCollection>()
  readonly #fences = new Map<string, readonly FenceRecord[]>()
  readonly #maintenance = new MemoryMaintenance(this.#byNumber)
  #nextCollection = 1
  #status: 'open' | 'deleted' | 'closed' = 'open'

  constructor(record: DatabaseRecord, clock: Clock, storeClock: StoreClock) {
    this.#record = record
    this.#clock = clock
    this.#storeClock = storeClock
  }

  get record(): DatabaseRecord {
    return this.#record
  }

  annotate(annotation: string, ifMatch: string | undefined): DatabaseRecord {
    this.#record = annotatedDatabase(this.#record, annotation, { nowMs: this.nowMs(), ifMatch })
    return this.#record
  }

  async listCollections(): Promise<readonly CollectionRecord[]> {
    this.#assertOpen()
    return [...this.#collections.values()].map(({ record }) => record)
  }

  async readCollection(id: string): Promise<CollectionRecord | undefined> {
    this.#assertOpen()
    return this.#collections.get(id)?.record
  }

  async createCollection(
    id: string,
    definition: CollectionDefinition,
    ranges: readonly FeedRange[],
  ): Promise<CollectionRecord> {
    this.#assertOpen()
    if (this.#collections.has(id)) throw new ResourceExistsError('collection', id)
    const number = this.#nextCollection++
    const rid = collectionRid(this.record.rid, number)
    const ts = Math.floor(this.nowMs() / 1000)
    const record = { id, number, rid, definition, ttlEras: [], etag: recordEtag(rid, ts), ts }
    const collection = new MemoryCollection(record, ranges)
    this.#collections.set(id, collection)
    this.#byNumber.set(number, collection)
    return record
  }

  async updateCollection(
    collection: CollectionRecord,
    changes: DefinitionChanges,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<CollectionRecord> {
    return this.#collection(collection).update(changes, { nowMs: this.nowMs(), ifMatch })
  }

  async deleteCollection(id: string): Promise<void> {
    this.#assertOpen()
    const collection = this.#collections.get(id)
    if (collection === undefined) throw new ResourceNotFoundError('collection', id)
    this.#collections.delete(id)
    this.#byNumber.delete(collection.record.number)
    collection.failWaiters()
  }

  async listRanges(collection: CollectionRecord): Promise<readonly RangeRecord[]> {
    return this.#collection(collection).ranges.map(({ record }) => record)
  }

  async splitRange({
    collection,
    range,
    at,
  }: Parameters<DatabaseEngine['splitRange']>[0]): Promise<readonly [RangeRecord, RangeRecord]> {
    return this.#collection(collection).split(range, at, this.nowMs())
  }

  async mergeRanges({
    collection,
    ranges,
  }: Parameters<DatabaseEngine['mergeRanges']>[0]): Promise<RangeRecord> {
    return this.#collection(collection).merge(ranges, this.nowMs())
  }

  async middleEpk(record: CollectionRecord, range: number): Promise<string | undefined> {
    const collection = this.#collection(record)
    return middleEpk(collection, collection.rangeNumbered(range), this.nowMs())
  }

  async measureRange(
    record: CollectionRecord,
    range: number,
  ): Promise<{ readonly documents: number; readonly bytes: number }> {
    const collection = this.#collection(record)
    return measureRange(collection, collection.rangeNumbered(range), this.nowMs())
  }

  async commit({ batches, fence }: CommitRequest): Promise<CommitOutcome> {
    this.#assertOpen()
    const fences = fence && (this.#fences.get(fence.job) ?? [])
    const currentEpoch = fence && fences && refusingEpoch(fences, fence)
    if (currentEpoch !== undefined) return { kind: 'fenced', currentEpoch }
    const timeMs = this.nowMs()
    const plan = planCommit(batches, (number) => this.#byNumber.get(number), timeMs)
    if (plan.kind !== 'planned') return plan
    if (fence && fences) this.#fences.set(fence.job, withFence(fences, fence))
    for (const batch of plan.batches) applyBatch(batch, timeMs)
    for (const [number, holders] of Map.groupBy(plan.holders, ({ scope }) => scope.collection)) {
      this.#byNumber.get(number)?.heldEntries.replace(holders)
    }
    for (const { range } of plan.batches) range.waiters.committed(range.lsn)
    return {
      kind: 'committed',
      batches: plan.batches.map(({ lsn, existed }) => ({ lsn, existed })),
      timeMs,
    }
  }

  async readDocument({ collection, ...key }: DocumentKey): Promise<DocumentVersion | undefined> {
    const row = this.#collection(collection).read(key, this.nowMs())
    return row?.version
  }

  async scan(query: ScanQuery): Promise<ScanPage> {
    return scanDocuments(this.#collection(query.collection), query, this.nowMs())
  }

  async countDocuments(collection: CollectionRecord): Promise<number> {
    return countDocuments(this.#collection(collection), this.nowMs())
  }

  async readFeedPage(query: FeedPageQuery): Promise<EngineFeedPage> {
    return this.#collection(query.collection).readFeedPage(query, this.nowMs())
  }

  async readVersionPage(query: FeedPageQuery): Promise<EngineVersionPage> {
    return this.#collection(query.collection).readVersionPage(query)
  }

  async countFeed(query: FeedCountQuery): Promise<FeedCount> {
    return this.#collection(query.collection).countFeed(query, this.nowMs())
  }

  async resolveStart(query: StartQuery): Promise<RangeCounter> {
    return this.#collection(query.collection).resolveStart(query)
  }

  async firstOwnLsn(collection: CollectionRecord, range: FeedRange): Promise<number> {
    return this.#collection(collection).rangeHolding(range).firstOwnLsn
  }

  async reportPositions(
    collection: CollectionRecord,
    positions: readonly GroupPosition[],
  ): Promise<void> {
    this.#collection(collection).reportPositions(positions)
  }

  async readPositions(
    collection: CollectionRecord,
    group: string,
  ): Promise<readonly GroupPosition[]> {
    return this.#collection(collection).readPositions(group)
  }

  async waitForCommit(request: Parameters<DatabaseEngine['waitForCommit']>[0]): Promise<boolean> {
    request.signal.throwIfAborted()
    const range = this.#collection(request.collection).rangeHolding(request.range)
    if (range.lsn > request.afterLsn) return true
    return range.waiters.wait(request, this.#clock)
  }

  async readMaintenance(): Promise<MaintenanceView> {
    this.#assertOpen()
    return this.#maintenance.read(this.nowMs())
  }

  async maintain(request: Parameters<DatabaseEngine['maintain']>[0]): Promise<MaintenanceOutcome> {
    this.#assertOpen()
    return this.#maintenance.perform(request, this.nowMs())
  }

  async releaseMaintenance(holder: string): Promise<void> {
    this.#assertOpen()
    this.#maintenance.release(holder)
  }

  async readExpiry(
    collection: CollectionRecord,
    { withinSeconds }: Parameters<DatabaseEngine['readExpiry']>[1],
  ): Promise<ExpiryView> {
    return expiryView(this.#collection(collection), { nowMs: this.nowMs(), withinSeconds })
  }

  nowMs(): number {
    return this.#storeClock.nowMs()
  }

  async check(): Promise<readonly string[]> {
    this.#assertOpen()
    return [...this.#collections.values()].flatMap((collection) => checkCollection(collection))
  }

  /** Ends every wait; all later calls fail. */
  end(status: 'deleted' | 'closed'): void {
    if (this.#status !== 'open') return
    this.#status = status
    const error = this.#ended()
    for (const collection of this.#collections.values()) collection.failWaiters(error)
    this.#collections.clear()
    this.#byNumber.clear()
  }

  #collection(record: CollectionRecord): MemoryCollection {
    this.#assertOpen()
    const collection = this.#byNumber.get(record.number)
    if (collection === undefined) throw new ResourceNotFoundError('collection', record.id)
    return collection
  }

  #assertOpen(): void {
    if (this.#status !== 'open') throw this.#ended()
  }

  #ended(): Error {
    return this.#status === 'deleted'
      ? new ResourceNotFoundError('database', this.record.id)
      : new StoreClosedError('the store was closed')
  }
}
