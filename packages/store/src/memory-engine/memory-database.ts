import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreClosedError,
  type Clock,
  type FeedRange,
} from '@tidemark/contracts'
import type {
  CollectionDefinition,
  CollectionRecord,
  DatabaseRecord,
  RangeRecord,
} from '../engine/catalog.ts'
import type { CommitOutcome, CommitRequest } from '../engine/commit.ts'
import type { DocumentKey, ScanPage, ScanQuery, StoredRow } from '../engine/document-query.ts'
import { refusingEpoch, withFence, type FenceRecord } from '../engine/fence-check.ts'
import {
  LIVE_ROW,
  type EngineFeedPage,
  type FeedPageQuery,
  type StartQuery,
  type RangeCounter,
} from '../engine/feed-query.ts'
import { collectionRid, recordEtag } from '../engine/resource-ids.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { stampBody } from '../engine/stored-body.ts'
import { planCommit, type PlannedBatch } from './commit-plan.ts'
import { MemoryCollection } from './memory-collection.ts'
import type { StoreClock } from './store-clock.ts'

/**
 * One database in memory. Every method does its work before it first gives the event loop a turn, so
 * that commits are atomic and a page is one snapshot.
 */
export class MemoryDatabase implements DatabaseEngine {
  readonly record: DatabaseRecord
  readonly #clock: Clock
  readonly #storeClock: StoreClock
  readonly #collections = new Map<string, MemoryCollection>()
  readonly #byNumber = new Map<number, MemoryCollection>()
  readonly #fences = new Map<string, readonly FenceRecord[]>()
  #nextCollection = 1
  #status: 'open' | 'deleted' | 'closed' = 'open'

  constructor(record: DatabaseRecord, clock: Clock, storeClock: StoreClock) {
    this.record = record
    this.#clock = clock
    this.#storeClock = storeClock
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
    const ts = Math.floor(this.#storeClock.nowMs() / 1000)
    const record = { id, number, rid, definition, etag: recordEtag(rid, ts), ts }
    const collection = new MemoryCollection(record, ranges)
    this.#collections.set(id, collection)
    this.#byNumber.set(number, collection)
    return record
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

  async commit({ batches, fence }: CommitRequest): Promise<CommitOutcome> {
    this.#assertOpen()
    const fences = fence && (this.#fences.get(fence.job) ?? [])
    const currentEpoch = fence && fences && refusingEpoch(fences, fence)
    if (currentEpoch !== undefined) return { kind: 'fenced', currentEpoch }
    const plan = planCommit(batches, (number) => this.#byNumber.get(number))
    if (plan.kind !== 'planned') return plan
    if (fence && fences) this.#fences.set(fence.job, withFence(fences, fence))
    const timeMs = this.#storeClock.nowMs()
    const ts = Math.floor(timeMs / 1000)
    for (const batch of plan.batches) applyBatch(batch, ts)
    for (const { range } of plan.batches) range.waiters.committed(range.lsn)
    return {
      kind: 'committed',
      batches: plan.batches.map(({ lsn, existed }) => ({ lsn, existed })),
      timeMs,
    }
  }

  async readDocument({ collection, ...key }: DocumentKey): Promise<StoredRow | undefined> {
    const row = this.#collection(collection).read(key)
    return row && { lsn: row.lsn, ts: row.ts, ttl: row.ttl, body: row.body }
  }

  async scan(query: ScanQuery): Promise<ScanPage> {
    return this.#collection(query.collection).scan(query)
  }

  async countDocuments(collection: CollectionRecord): Promise<number> {
    return this.#collection(collection).count
  }

  async readFeedPage(query: FeedPageQuery): Promise<EngineFeedPage> {
    return this.#collection(query.collection).rangeHolding(query.range).readPage(query)
  }

  async resolveStart({ collection, range, start }: StartQuery): Promise<RangeCounter> {
    const holder = this.#collection(collection).rangeHolding(range)
    return { lsn: holder.startLsn(range, start), epoch: 0, horizon: 0 }
  }

  async waitForCommit(request: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    request.signal.throwIfAborted()
    const range = this.#collection(request.collection).rangeHolding(request.range)
    if (range.lsn > request.afterLsn) return true
    return range.waiters.wait(request, this.#clock)
  }

  nowMs(): number {
    return this.#storeClock.nowMs()
  }

  async check(): Promise<readonly string[]> {
    this.#assertOpen()
    return [...this.#collections.values()].flatMap((collection) => collection.check())
  }

  /** Ends every wait; all later calls fail. */
  end(status: 'deleted' | 'closed'): void {
    if (this.#status !== 'open') return
    this.#status = status
    const error = this.#ended()
    for (const collection of this.#collections.values()) {
      for (const range of collection.ranges) range.waiters.failAll(error)
    }
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

function applyBatch({ batch, collection, range, lsn }: PlannedBatch, ts: number): void {
  const { epk, partitionKey } = batch
  const { segment } = range
  segment.lsn = Math.max(segment.lsn, lsn)
  for (const operation of batch.operations) {
    const { id } = operation
    if (operation.kind === 'delete') collection.delete({ partitionKey, id })
    if (operation.kind !== 'put') continue
    const body = stampBody(operation, { collection: batch.collection.number, lsn, ts })
    const { ttl } = operation
    collection.put({ epk, partitionKey, id, lsn, kind: LIVE_ROW, ts, ttl, body, segment, slot: 0 })
  }
}
