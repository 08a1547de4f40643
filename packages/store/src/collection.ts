import {
  ResourceNotFoundError,
  errorCode,
  type BatchOperation,
  type BatchResult,
  type ChangeFeedSource,
  type DeleteResult,
  type DocumentBody,
  type DocumentCollection,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedSupport,
  type FeedWaitRequest,
  type Continuation,
  type Lsn,
  type PartitionKey,
  type PatchOperation,
  type PatchOptions,
  type RangePosition,
  type ReadOptions,
  type ReadResult,
  type RequestOptions,
  type StartPosition,
  type Stored,
  type WriteOptions,
  type WriteResult,
} from '@tidemark/contracts'
import type { CollectionOptions } from './catalog/collection-options.ts'
import type { KnownCollections } from './catalog/known-collections.ts'
import { readRangesPage, type RangesPage } from './catalog/read-ranges.ts'
import { checkedDocumentId } from './catalog/resource-names.ts'
import { DocumentEncoder } from './documents/document-encoder.ts'
import { readRow, type OpenCollection } from './documents/open-collection.ts'
import { patchDocument } from './documents/patch-document.ts'
import {
  readDocumentTexts,
  readDocuments,
  type DocumentsPage,
  type ReadDocumentsOptions,
} from './documents/read-documents.ts'
import { parseStored } from './documents/stored-document.ts'
import { TransactionalBatch } from './documents/transactional-batch.ts'
import { deleteDocument, writeDocument } from './documents/write-document.ts'
import type { CollectionRecord } from './engine/catalog.ts'
import { singleEpkRange } from './engine/range-lookup.ts'
import type { DatabaseEngine } from './engine/storage-engine.ts'
import { documentEtag } from './engine/stored-body.ts'
import {
  resolveChangesOptions,
  type ChangesOptions,
  type ChangesPage,
} from './feed/changes-options.ts'
import { FeedReader } from './feed/feed-reader.ts'
import { ReadingTurns } from './paging/reading-turns.ts'
import { resolveItemCount } from './paging/item-count.ts'
import { iterateChanges } from './feed/iterate-changes.ts'

/** A page of the feed whose documents were not decoded: for HTTP answers and copies. */
export interface FeedTextPage extends FeedPosition {
  /** Each document as JSON text, system properties included, in LSN order. */
  readonly bodies: readonly string[]
  readonly caughtUp: boolean
}

/** Where a collection handle finds its collection. */
export interface CollectionLocation {
  readonly storeId: string
  readonly databaseId: string
  readonly id: string
  readonly known: KnownCollections
  readonly maxDocumentBytes: number
  openDatabase(): Promise<DatabaseEngine>
  /** Makes the collection, and its database too, unless they are there. */
  create(options: Omit<CollectionOptions, 'id'>): Promise<void>
}

/** A collection that was found already, so that its handle need not look for it. */
export interface FoundCollection {
  readonly engine: DatabaseEngine
  readonly record: CollectionRecord
}

/**
 * A handle on one collection: its documents and its change feed.
 *
 * Making one does no I/O. The first call finds the collection by name; from then on the handle stays
 * with that one: when it is deleted every call rejects with ERR_NOT_FOUND, also after another of the
 * same name was made. Safe to use concurrently.
 */
export class Collection<T extends DocumentBody = DocumentBody>
  implements DocumentCollection<T>, ChangeFeedSource<T>
{
  readonly id: string
  readonly databaseId: string
  readonly supports: FeedSupport = { waiting: true, childrenCarryParentChanges: true }
  readonly #location: CollectionLocation
  #opening: Promise<FeedReader<T>> | undefined
  #reader: FeedReader<T> | undefined

  constructor(location: CollectionLocation, found?: FoundCollection) {
    this.id = location.id
    this.databaseId = location.databaseId
    this.#location = location
    this.#reader = found && this.#readerOf(found)
  }

  /**
   * Store id and `_rid`. Before the first call to a collection that this store has not seen yet, its
   * names stand in for the `_rid`.
   */
  get identity(): string {
    const { storeId, databaseId, id } = this.#location
    const record = this.#knownRecord()
    return record ? `${storeId}/${record.rid}` : `${storeId}/dbs/${databaseId}/colls/${id}`
  }

  get description(): string {
    return `${this.databaseId}/${this.id}`
  }

  /** @throws ERR_NOT_FOUND before the first call to a collection that this store has not seen */
  get partitionKeyPaths(): readonly string[] {
    const record = this.#knownRecord()
    if (record === undefined) throw new ResourceNotFoundError('collection', this.id)
    return record.definition.partitionKey.paths
  }

  /** Finds the collection, and gives what lies below documents. Rejects with ERR_NOT_FOUND. */
  async open(): Promise<OpenCollection> {
    return (await this.#feedReader()).open
  }

  /**
   * Makes the collection, and its database too, unless they are there. An existing collection is left
   * as it is, whatever its partition key.
   */
  async createIfNotExists(options: Omit<CollectionOptions, 'id'> & RequestOptions): Promise<void> {
    options.signal?.throwIfAborted()
    if (this.#reader === undefined) await this.#location.create(options)
  }

  /** The collection's definition and `_rid`. */
  async readRecord(): Promise<CollectionRecord> {
    return (await this.open()).record
  }

  async read(
    id: string,
    partitionKey: PartitionKey,
    options: ReadOptions = {},
  ): Promise<ReadResult<T>> {
    options.signal?.throwIfAborted()
    const open = await this.open()
    const row = await readRow(open, open.encoder.encodeKey(partitionKey), checkedDocumentId(id))
    const serverTimeMs = open.engine.nowMs()
    const { ifNoneMatch } = options
    const notModified =
      row !== undefined &&
      ifNoneMatch !== undefined &&
      (ifNoneMatch === '*' || ifNoneMatch === documentEtag(open.record.number, row.lsn))
    const document = row && !notModified ? parseStored<T>(row.body) : undefined
    return { document, notModified, serverTimeMs }
  }

  create(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write('create', document, options)
  }

  upsert(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write('upsert', document, options)
  }

  replace(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write('replace', document, options)
  }

  /**
   * Reads, changes and writes under the condition that nobody wrote in between; tried again when
   * somebody did, at last ERR_WRITE_CONFLICT.
   */
  async patch(
    id: string,
    partitionKey: PartitionKey,
    operations: readonly PatchOperation[],
    options: PatchOptions<T> = {},
  ): Promise<WriteResult<T>> {
    const open = await this.open()
    const key = open.encoder.encodeKey(partitionKey)
    return patchDocument(open, { id: checkedDocumentId(id), key, operations }, options)
  }

  async delete(
    id: string,
    partitionKey: PartitionKey,
    options: WriteOptions = {},
  ): Promise<DeleteResult> {
    const open = await this.open()
    const key = open.encoder.encodeKey(partitionKey)
    return deleteDocument(open, { id: checkedDocumentId(id), key }, options)
  }

  /** At most 100 operations; several on one id see one another's effects, in order. */
  async batch(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation<T>[],
    options: RequestOptions = {},
  ): Promise<BatchResult<T>> {
    const open = await this.open()
    const key = open.encoder.encodeKey(partitionKey)
    return new TransactionalBatch(open, key, operations).run(options.signal)
  }

  async readPartition(
    partitionKey: PartitionKey,
    options: RequestOptions = {},
  ): Promise<{ readonly documents: readonly Stored<T>[]; readonly serverTimeMs: number }> {
    options.signal?.throwIfAborted()
    const { engine, encoder, record } = await this.open()
    const { epk, text } = encoder.encodeKey(partitionKey)
    const { bodies } = await engine.scan({
      collection: record,
      range: singleEpkRange(epk),
      partitionKey: text,
      maxItems: WHOLE_PARTITION,
      maxChars: WHOLE_PARTITION,
    })
    const documents = bodies.map((body) => parseStored<T>(body))
    return { documents, serverTimeMs: engine.nowMs() }
  }

  async waitForCommit(request: {
    readonly partitionKey: PartitionKey
    readonly afterLsn: Lsn
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    const { engine, encoder, record } = await this.open()
    const { afterLsn, timeoutMs, signal } = request
    const range = singleEpkRange(encoder.encodeKey(request.partitionKey).epk)
    return engine.waitForCommit({ collection: record, range, afterLsn, timeoutMs, signal })
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

  async readFeedRanges(options: RequestOptions = {}): Promise<readonly FeedRange[]> {
    options.signal?.throwIfAborted()
    const { engine, record } = await this.open()
    const ranges = await engine.listRanges(record)
    return ranges.map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
  }

  async resolveStart(request: {
    readonly range: FeedRange
    readonly start: StartPosition
    readonly signal?: AbortSignal | undefined
  }): Promise<FeedPosition> {
    request.signal?.throwIfAborted()
    const reader = await this.#feedReader()
    return feedPosition(reader, await reader.start(request.range, request.start))
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    request.signal?.throwIfAborted()
    const reader = await this.#feedReader()
    const { pendingDeletes = true } = request
    const from = reader.position(request.continuation, request.range)
    const maxItems = resolveItemCount(request.maxItemCount)
    const { changes, position, caughtUp } = await reader.read(from, { maxItems, pendingDeletes })
    const { continuation, lsn } = feedPosition(reader, position)
    return { changes, continuation, lsn, caughtUp }
  }

  /** As `readPage`, with documents as JSON text and without pending deletes. */
  async readPageText(request: FeedPageRequest): Promise<FeedTextPage> {
    request.signal?.throwIfAborted()
    const reader = await this.#feedReader()
    const from = reader.position(request.continuation, request.range)
    const maxItems = resolveItemCount(request.maxItemCount)
    const { bodies, position, caughtUp } = await reader.readText(from, maxItems)
    const { continuation, lsn } = feedPosition(reader, position)
    return { bodies, continuation, lsn, caughtUp }
  }

  async waitForChanges(request: FeedWaitRequest): Promise<boolean> {
    const reader = await this.#feedReader()
    const position = reader.position(request.continuation, request.range)
    return reader.wait(position, request.timeoutMs, request.signal)
  }

  /**
   * Iterates over the feed of all ranges in turn, or of one (CF-13). Each page resumes the whole.
   *
   * A pending `next()` is ended by the signal, which makes it reject with the signal's reason; leaving
   * a `for await` loop needs nothing.
   *
   * @throws ERR_INVALID_OPTION at once; ERR_INVALID_CONTINUATION, ERR_NOT_FOUND from the first page
   */
  changes(options: ChangesOptions<T> = {}): AsyncGenerator<ChangesPage<T>, void, undefined> {
    const resolved = resolveChangesOptions(options)
    return iterateChanges(() => this.#feedReader(), resolved)
  }

  async #write(
    kind: 'create' | 'upsert' | 'replace',
    document: T,
    options: WriteOptions,
  ): Promise<WriteResult<T>> {
    const open = this.#reader?.open ?? (await this.open())
    const { partitionKey } = options
    const expected = partitionKey === undefined ? undefined : open.encoder.encodeKey(partitionKey)
    const encoded = open.encoder.encode(document, expected)
    return writeDocument<T>(open, kind, { encoded, options })
  }

  #knownRecord(): CollectionRecord | undefined {
    const { known, databaseId, id } = this.#location
    return this.#reader?.open.record ?? known.get(databaseId, id)
  }

  async #feedReader(): Promise<FeedReader<T>> {
    if (this.#reader !== undefined) return this.#reader
    this.#opening ??= this.#find()
    try {
      this.#reader = await this.#opening
      return this.#reader
    } finally {
      this.#opening = undefined
    }
  }

  #readerOf({ engine, record }: FoundCollection): FeedReader<T> {
    const encoder = new DocumentEncoder(record, this.#location.maxDocumentBytes)
    return new FeedReader<T>({ engine, record, encoder, turns: new ReadingTurns() })
  }

  async #find(): Promise<FeedReader<T>> {
    const { known, databaseId, id } = this.#location
    try {
      const engine = await this.#location.openDatabase()
      const record = await engine.readCollection(id)
      if (record === undefined) throw new ResourceNotFoundError('collection', id)
      known.add(databaseId, record)
      return this.#readerOf({ engine, record })
    } catch (error) {
      if (errorCode(error) === 'ERR_NOT_FOUND') known.remove(databaseId, id)
      throw error
    }
  }
}

/** More than any partition holds; a number that every engine takes as a limit. */
const WHOLE_PARTITION = 2_000_000_000

function feedPosition<T extends DocumentBody>(
  reader: FeedReader<T>,
  position: RangePosition,
): { readonly continuation: Continuation; readonly lsn: Lsn } {
  return { continuation: reader.continuation([position]), lsn: position.lsn }
}
