import {
  ResourceNotFoundError,
  type BatchOperation,
  type BulkOperation,
  type BulkOutcome,
  type ChangeFeedSource,
  type DeleteResult,
  type DivideRangeRequest,
  type DocumentBody,
  type DocumentCollection,
  type FeedLag,
  type FeedLagRequest,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedStartRequest,
  type FeedSupport,
  type FeedWaitRequest,
  type GroupPositions,
  type JoinPositionsRequest,
  type PartitionKeyRange,
  type PartitionKey,
  type PatchOperation,
  type PatchOptions,
  type PositionAtRequest,
  type Presence,
  type ReadOptions,
  type ReadResult,
  type RequestOptions,
  type SourceRange,
  type Stored,
  type WriteOptions,
} from '@tidemark/contracts'
import { checkOptions } from '@tidemark/contracts/internal'
import {
  addWaitingGroup,
  changeSettings,
  readPresentRecord,
  removeWaitingGroup,
} from './catalog/change-settings.ts'
import { CollectionRanges } from './catalog/collection-ranges.ts'
import type { CollectionOptions } from './catalog/collection-options.ts'
import type { CollectionSettings } from './catalog/collection-settings.ts'
import { readCollectionExpiry, type ReadExpiryOptions } from './catalog/read-expiry.ts'
import { readRangesPage, readSourceRanges, type RangesPage } from './catalog/read-ranges.ts'
import {
  CollectionFinder,
  type CollectionLocation,
  type FoundCollection,
} from './collection-finder.ts'
import { bulkWrite } from './documents/bulk-write.ts'
import type { OpenCollection, TextWriteResult } from './documents/open-collection.ts'
import type { BatchOptions } from './documents/outbox.ts'
import { patchDocument } from './documents/patch-document.ts'
import {
  readDocument,
  readDocumentText,
  readPartition,
  type ReadTextResult,
} from './documents/read-document.ts'
import {
  readDocumentTexts,
  readDocuments,
  type DocumentsPage,
  type ReadDocumentsOptions,
} from './documents/read-documents.ts'
import { TransactionalBatch, type TextBatchResult } from './documents/transactional-batch.ts'
import { addressOf, deleteDocument, writeDocument } from './documents/write-document.ts'
import { patchRules, readRules, writeRules } from './documents/write-rules.ts'
import type { CollectionRecord } from './engine/catalog.ts'
import type { ExpiryView } from './engine/maintenance.ts'
import { singleEpkRange } from './engine/range-lookup.ts'
import type { ChangesOptions, ChangesPage } from './feed/changes-options.ts'
import { CollectionFeed, FEED_SUPPORT } from './feed/collection-feed.ts'
import { CollectionPositions } from './feed/collection-positions.ts'
import type { FeedRowsPage, FeedTextPage } from './feed/read-page.ts'

/**
 * A handle on one collection: its documents and its change feed.
 *
 * Making a handle does no I/O. The first call finds the collection by name, and from then on the handle refers to that
 * one. When it is deleted, every call rejects with ERR_NOT_FOUND, also after another was created. Concurrent use is safe.
 */
export class Collection<T extends DocumentBody = DocumentBody>
  implements DocumentCollection<T>, ChangeFeedSource<T>
{
  readonly id: string
  readonly databaseId: string
  readonly supports: FeedSupport = FEED_SUPPORT
  /** How far processor groups have come. `pendingDeletes.waitFor` uses these positions. */
  readonly positions: GroupPositions
  readonly #location: CollectionLocation
  readonly #finder: CollectionFinder
  readonly #feed: CollectionFeed<T>
  readonly #ranges: CollectionRanges

  /** @internal Use `database.collection(id)`. */
  constructor(location: CollectionLocation, found?: FoundCollection) {
    this.id = location.id
    this.databaseId = location.databaseId
    this.#location = location
    this.#finder = new CollectionFinder(location, found)
    this.positions = new CollectionPositions(() => this.open())
    this.#feed = new CollectionFeed(() => this.open())
    this.#ranges = new CollectionRanges(location)
  }

  /** Store id and `_rid`; the names instead of the `_rid` before the first call to a collection new to this store. */
  get identity(): string {
    const { storeId, databaseId, id } = this.#location
    const record = this.#finder.knownRecord
    return record ? `${storeId}/${record.rid}` : `${storeId}/dbs/${databaseId}/colls/${id}`
  }

  get description(): string {
    return `${this.databaseId}/${this.id}`
  }

  get presence(): Presence | undefined {
    return this.#location.presence
  }

  /** @throws ERR_NOT_FOUND before the first call to a collection that this store has not seen */
  get partitionKeyPaths(): readonly string[] {
    const record = this.#finder.knownRecord
    if (record === undefined) throw new ResourceNotFoundError('collection', this.id)
    return record.definition.partitionKey.paths
  }

  /** Finds the collection, and returns the layer below documents. Rejects with ERR_NOT_FOUND. */
  open(): Promise<OpenCollection> {
    return this.#finder.open()
  }

  /** Creates the collection, and its database, if they do not exist. Does not change an existing collection. */
  async createIfNotExists(given: Omit<CollectionOptions, 'id'> & RequestOptions): Promise<void> {
    const { signal, ...options } = given
    signal?.throwIfAborted()
    if (this.#finder.opened === undefined) await this.#location.create(options)
  }

  /** The present record of the collection. Other processes can change it at any time. */
  async readRecord(): Promise<CollectionRecord> {
    return readPresentRecord(await this.open())
  }

  /**
   * Changes the settings that are given, and of `pendingDeletes` the properties that are given. The change takes effect
   * at once, in every process, also for existing documents (TTL-18). Rejects with ERR_INVALID_OPTION, and with
   * ERR_PRECONDITION_FAILED when `ifMatch` is given and is not the etag of the present record.
   */
  async updateSettings(
    settings: CollectionSettings,
    options: { readonly ifMatch?: string | undefined } = {},
  ): Promise<CollectionRecord> {
    return changeSettings(await this.open(), settings, options)
  }

  /** Makes purges also wait for this processor group (TTL-14). */
  async addWaitingGroup(group: string): Promise<CollectionRecord> {
    return addWaitingGroup(await this.open(), group)
  }

  /** Purges no longer wait for this processor group. */
  async removeWaitingGroup(group: string): Promise<CollectionRecord> {
    return removeWaitingGroup(await this.open(), group)
  }

  async read(
    id: string,
    partitionKey: PartitionKey,
    options: ReadOptions = {},
  ): Promise<ReadResult<T>> {
    checkOptions(options, readRules)
    options.signal?.throwIfAborted()
    return readDocument<T>(await this.open(), { id, partitionKey }, options)
  }

  /** As `read`, with the document as JSON text. */
  async readText(
    id: string,
    partitionKey: PartitionKey,
    options: ReadOptions = {},
  ): Promise<ReadTextResult> {
    options.signal?.throwIfAborted()
    return readDocumentText(await this.open(), { id, partitionKey }, options)
  }

  create(document: T, options: WriteOptions = {}): Promise<TextWriteResult<T>> {
    return this.#write('create', document, options)
  }

  upsert(document: T, options: WriteOptions = {}): Promise<TextWriteResult<T>> {
    return this.#write('upsert', document, options)
  }

  replace(document: T, options: WriteOptions = {}): Promise<TextWriteResult<T>> {
    return this.#write('replace', document, options)
  }

  /**
   * Reads the document, changes it and writes it if it has not changed meanwhile. When it has, `patch` tries again, and
   * after many attempts rejects with ERR_WRITE_CONFLICT.
   */
  async patch(
    id: string,
    partitionKey: PartitionKey,
    operations: readonly PatchOperation[],
    options: PatchOptions<T> = {},
  ): Promise<TextWriteResult<T>> {
    checkOptions(options, patchRules)
    const open = await this.open()
    return patchDocument(open, { ...addressOf(open, id, partitionKey), operations }, options)
  }

  async delete(
    id: string,
    partitionKey: PartitionKey,
    options: WriteOptions = {},
  ): Promise<DeleteResult> {
    checkOptions(options, writeRules)
    const open = await this.open()
    return deleteDocument(open, addressOf(open, id, partitionKey), options)
  }

  /** At most 100 operations. Operations on the same id see the effects of earlier ones. */
  async batch(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation<T>[],
    options: BatchOptions = {},
  ): Promise<TextBatchResult<T>> {
    const open = await this.open()
    const key = open.encoder.encodeKey(partitionKey)
    return new TransactionalBatch(open, key, operations).run(options)
  }

  /**
   * Many writes, each for itself. Yields one outcome each, in the order of `operations`, and begins when you iterate. Reads
   * at most about 16,000 operations and 16 MiB of text ahead. Writes on one document are done in order. The signal and an
   * error of `operations` end the reading: what was read is written and has its outcome, then the iteration rejects. Also
   * rejects with ERR_NOT_FOUND when the collection is gone, ERR_STORE_CLOSED, ERR_INVALID_OPTION.
   */
  bulk(
    operations: Iterable<BulkOperation<T>> | AsyncIterable<BulkOperation<T>>,
    options: RequestOptions = {},
  ): AsyncGenerator<BulkOutcome<T>, void, undefined> {
    return bulkWrite(() => this.open(), operations, options)
  }

  /** Of all collections of the database. Cheap when everything is on disk. */
  async flush({ signal }: RequestOptions = {}): Promise<void> {
    signal?.throwIfAborted()
    await (await this.open()).engine.flush?.()
  }

  async readPartition(
    partitionKey: PartitionKey,
    options: RequestOptions = {},
  ): Promise<{ readonly documents: readonly Stored<T>[]; readonly serverTimeMs: number }> {
    options.signal?.throwIfAborted()
    return readPartition<T>(await this.open(), partitionKey, options)
  }

  async waitForCommit({
    partitionKey,
    ...request
  }: Parameters<NonNullable<DocumentCollection['waitForCommit']>>[0]): Promise<boolean> {
    const { engine, encoder, record } = await this.open()
    const range = singleEpkRange(encoder.encodeKey(partitionKey).epk)
    return engine.waitForCommit({ collection: record, range, ...request })
  }

  /** One page of all current documents (ReadDocumentFeed, ST-8), in key order. */
  async readDocuments(options: ReadDocumentsOptions = {}): Promise<DocumentsPage<T>> {
    return readDocuments<T>(await this.open(), options)
  }

  /** As `readDocuments`, with documents as JSON text. */
  async readDocumentsText(
    options: ReadDocumentsOptions = {},
  ): Promise<{ readonly bodies: readonly string[]; readonly continuation: string | undefined }> {
    return readDocumentTexts(await this.open(), options)
  }

  /** Number of current documents. */
  async count(options: RequestOptions = {}): Promise<number> {
    options.signal?.throwIfAborted()
    const { engine, record } = await this.open()
    return engine.countDocuments(record)
  }

  /** One page of the pkranges (ReadPartitionKeyRanges, ST-7), in EPK order. */
  async readPartitionKeyRanges(
    options: RequestOptions & {
      readonly maxItemCount?: number | undefined
      readonly continuation?: string | undefined
    } = {},
  ): Promise<RangesPage> {
    options.signal?.throwIfAborted()
    return readRangesPage(await this.open(), options)
  }

  /**
   * Splits a pkrange in two while reads and writes continue: in the middle of its documents, or at a given EPK (ST-9).
   * No document moves, and continuations stay valid in both.
   *
   * Rejects with ERR_RANGE_GONE naming successors, ERR_NOT_FOUND when there never was such a range,
   * ERR_RANGE_INDIVISIBLE when all its documents have one key, ERR_INVALID_OPTION for an invalid `at`.
   */
  async split(
    rangeId: string,
    options: { readonly at?: string | undefined } = {},
  ): Promise<readonly [PartitionKeyRange, PartitionKeyRange]> {
    return this.#ranges.split(await this.open(), { rangeId, at: options.at })
  }

  /**
   * Merges two neighbouring pkranges (ST-9). Readers and leases that began before the merge keep their own intervals.
   * Rejects as `split` does, and with ERR_INVALID_OPTION when the ranges are not neighbours.
   */
  async merge(rangeId: string, otherId: string): Promise<PartitionKeyRange> {
    return this.#ranges.merge(await this.open(), [rangeId, otherId])
  }

  /** What expires when, and what waits for its purge. */
  async readExpiry(options: ReadExpiryOptions = {}): Promise<ExpiryView> {
    options.signal?.throwIfAborted()
    return readCollectionExpiry(await this.open(), options)
  }

  /** Rejects with ERR_NOT_FOUND. */
  async readRid({ signal }: RequestOptions = {}): Promise<string> {
    signal?.throwIfAborted()
    return (await this.open()).record.rid
  }

  async readFeedRanges(options: RequestOptions = {}): Promise<readonly SourceRange[]> {
    options.signal?.throwIfAborted()
    return readSourceRanges(await this.open())
  }

  divideRange(request: DivideRangeRequest): Promise<readonly FeedRange[]> {
    return this.#feed.divideRange(request)
  }

  resolveStart(request: FeedStartRequest): Promise<FeedPosition> {
    return this.#feed.resolveStart(request)
  }

  /** Its reader is told of every purge above the LSN, also of those that an earlier reader at this LSN had seen. */
  positionAt(request: PositionAtRequest): Promise<FeedPosition> {
    return this.#feed.positionAt(request)
  }

  /** Reads as many rows as it counts, and no text. `limit` <= 100,000. Of expiries it counts the pending deletes. */
  measureLag(request: FeedLagRequest): Promise<FeedLag> {
    return this.#feed.measureLag(request)
  }

  readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    return this.#feed.readPage(request)
  }

  /** As `readPage`, with documents as JSON text and without pending deletes. Only for latest-version mode. */
  readPageText(request: FeedPageRequest): Promise<FeedTextPage> {
    return this.#feed.readPageText(request)
  }

  /** As `readPage`, but not decoded and always with the rows of pending deletes. For code that forwards pages. */
  readPageRows(request: FeedPageRequest): Promise<FeedRowsPage> {
    return this.#feed.readPageRows(request)
  }

  waitForChanges(request: FeedWaitRequest): Promise<boolean> {
    return this.#feed.waitForChanges(request)
  }

  joinPositions(request: JoinPositionsRequest): Promise<FeedPosition | undefined> {
    return this.#feed.joinPositions(request)
  }

  /**
   * Iterates over the feed of all ranges in turn, or of one (CF-13). The continuation of each page resumes the whole
   * iteration.
   *
   * The signal ends a pending `next()`, which rejects with the signal's reason. To leave a `for await` loop, no signal
   * is needed.
   *
   * @throws ERR_INVALID_OPTION at once; ERR_INVALID_CONTINUATION, ERR_NOT_FOUND, ERR_ALL_VERSIONS_OFF from the first
   * page; ERR_HORIZON_PASSED from any, unless `onHorizonPassed` is `resync`
   */
  changes(options: ChangesOptions<T> = {}): AsyncGenerator<ChangesPage<T>, void, undefined> {
    return this.#feed.changes(options)
  }

  async #write(
    kind: 'create' | 'upsert' | 'replace',
    document: T,
    options: WriteOptions,
  ): Promise<TextWriteResult<T>> {
    checkOptions(options, writeRules)
    const open = this.#finder.opened ?? (await this.open())
    return writeDocument<T>(open, kind, { document, options })
  }
}
