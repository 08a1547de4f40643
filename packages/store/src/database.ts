import { ResourceNotFoundError, errorCode, type DocumentBody } from '@tidemark/contracts'
import {
  commitAtomically,
  type AtomicCommitOptions,
  type AtomicCommitResult,
  type AtomicWrite,
} from './atomic-commit.ts'
import {
  resolveCollectionOptions,
  type CollectionOptions,
  type ResolvedCollectionOptions,
} from './catalog/collection-options.ts'
import { checkedAnnotation } from './catalog/collection-settings.ts'
import type { KnownCollections } from './catalog/known-collections.ts'
import { checkedResourceId } from './catalog/resource-names.ts'
import { Collection } from './collection.ts'
import type { CollectionLocation, FoundCollection } from './collection-finder.ts'
import type { CollectionRecord, DatabaseRecord } from './engine/catalog.ts'
import type { DatabaseEngine, StorageEngine } from './engine/storage-engine.ts'
import type { StoreEventEmitter } from './events/store-event-emitter.ts'
import { CollectionMismatchError } from './errors/collection-mismatch-error.ts'

/** What the handles of one store share. */
export interface StoreContext {
  readonly engine: StorageEngine
  readonly known: KnownCollections
  readonly events: StoreEventEmitter
  readonly maxDocumentBytes: number
}

/**
 * A handle on one database, found by name at each call. Making one does no I/O. Every method rejects
 * with ERR_NOT_FOUND while there is no such database, except that `createCollectionIfNotExists` makes it.
 */
export class Database {
  readonly id: string
  readonly #context: StoreContext

  /** @throws ERR_INVALID_OPTION for an id that no database can have */
  constructor(id: string, context: StoreContext) {
    this.id = checkedResourceId('database', id)
    this.#context = context
  }

  /** The database's record as it is now; other processes may change it at any time. */
  async readRecord(): Promise<DatabaseRecord> {
    const record = await this.#context.engine.readDatabase(this.id)
    if (record === undefined) throw new ResourceNotFoundError('database', this.id)
    return record
  }

  /**
   * Keeps a text of the caller's own with the database, in the place of the one before; see `CollectionSettings`.
   * Rejects with ERR_PRECONDITION_FAILED where `ifMatch` is given and is not the present record's.
   */
  async annotate(
    annotation: string,
    options: { readonly ifMatch?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    const checked = checkedAnnotation(annotation)
    return this.#context.engine.annotateDatabase(await this.readRecord(), checked, options)
  }

  /**
   * A handle on a collection that need not exist yet.
   *
   * @throws ERR_INVALID_OPTION for an id that no collection can have
   */
  collection<T extends DocumentBody = DocumentBody>(id: string): Collection<T> {
    return new Collection<T>(this.#location(id))
  }

  /** Rejects with ERR_EXISTS, and with ERR_INVALID_OPTION or ERR_INVALID_PARTITION_KEY for bad options. */
  async createCollection<T extends DocumentBody = DocumentBody>(
    options: CollectionOptions,
  ): Promise<Collection<T>> {
    const { id, definition, ranges } = resolveCollectionOptions(options)
    const engine = await this.#open()
    return this.#found<T>({ engine, record: await engine.createCollection(id, definition, ranges) })
  }

  /**
   * Makes the collection, and the database too, unless they are there. Many may call it at once.
   *
   * An existing collection is taken as it is: its time to live, indexing and number of pkranges may
   * differ from the options; with another partition key, or other unique
   * keys than the options name, it rejects with ERR_COLLECTION_MISMATCH.
   */
  async createCollectionIfNotExists<T extends DocumentBody = DocumentBody>(
    options: CollectionOptions,
  ): Promise<Collection<T>> {
    const resolved = resolveCollectionOptions(options)
    const found = await this.#findOrCreate(resolved)
    assertForEver(found.record, resolved, options)
    return this.#found<T>(found)
  }

  async listCollections(): Promise<readonly CollectionRecord[]> {
    const records = await (await this.#open()).listCollections()
    for (const record of records) this.#context.known.add(this.id, record)
    return records
  }

  /** Deletes it with its documents. Rejects with ERR_NOT_FOUND. */
  async deleteCollection(id: string): Promise<void> {
    this.#context.known.remove(this.id, id)
    await (await this.#open()).deleteCollection(id)
  }

  /**
   * Commits writes of several partition key values and collections of this database as one. For jobs,
   * which move documents between them and must not be repeated by a worker that lost its lease.
   *
   * Rejects with ERR_FENCED_WRITE when a later owner has written, with ERR_ATOMIC_WRITE_FAILED naming
   * the write whose condition did not hold, whose document is invalid or whose collection is gone, and
   * with ERR_INVALID_OPTION for no writes or a collection of another database. ERR_COMMIT_TOO_LARGE: more than
   * 10,000 writes, or more text than 64 MiB (than `maxDocumentBytes` and 1 MiB, if that is more).
   */
  async commitAtomically(
    writes: readonly AtomicWrite[],
    options: AtomicCommitOptions = {},
  ): Promise<AtomicCommitResult> {
    const { maxDocumentBytes } = this.#context
    return commitAtomically(await this.#open(), writes, { ...options, maxDocumentBytes })
  }

  /** Contradictions between documents, indexes, ranges and counters; none is the rule. Reads everything. */
  async check(): Promise<readonly string[]> {
    return (await this.#open()).check()
  }

  #open(): Promise<DatabaseEngine> {
    return this.#context.engine.openDatabase(this.id)
  }

  async #findOrCreate(resolved: ResolvedCollectionOptions): Promise<FoundCollection> {
    const engine = await this.#openOrCreate()
    const record =
      (await engine.readCollection(resolved.id)) ?? (await this.#createOrRead(engine, resolved))
    return { engine, record }
  }

  async #openOrCreate(): Promise<DatabaseEngine> {
    try {
      return await this.#open()
    } catch (error) {
      if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
    }
    await createDatabaseIfNotExists(this.#context.engine, this.id)
    return this.#open()
  }

  async #createOrRead(
    engine: DatabaseEngine,
    { id, definition, ranges }: ResolvedCollectionOptions,
  ): Promise<CollectionRecord> {
    try {
      return await engine.createCollection(id, definition, ranges)
    } catch (error) {
      if (errorCode(error) !== 'ERR_EXISTS') throw error
    }
    const record = await engine.readCollection(id)
    if (record === undefined) throw new ResourceNotFoundError('collection', id)
    return record
  }

  #found<T extends DocumentBody>(found: FoundCollection): Collection<T> {
    this.#context.known.add(this.id, found.record)
    return new Collection<T>(this.#location(found.record.id), found)
  }

  #location(id: string): CollectionLocation {
    const { engine, known, events, maxDocumentBytes } = this.#context
    return {
      storeId: engine.storeId,
      databaseId: this.id,
      id: checkedResourceId('collection', id),
      known,
      events,
      maxDocumentBytes,
      openDatabase: () => this.#open(),
      create: async (options) => {
        await this.#findOrCreate(resolveCollectionOptions({ ...options, id }))
      },
    }
  }
}

/** What of a collection cannot be changed is as it was asked for. Unique keys that are not spoken of may be any. */
function assertForEver(
  { definition: present }: CollectionRecord,
  { id, definition: wanted }: ResolvedCollectionOptions,
  { uniqueKeys }: Pick<CollectionOptions, 'uniqueKeys'>,
): void {
  const compare = (what: string, a: unknown, b: unknown): void => {
    const [there, asked] = [JSON.stringify(a), JSON.stringify(b)]
    if (there !== asked)
      throw new CollectionMismatchError(id, { what, present: there, wanted: asked })
  }
  compare('partition key', present.partitionKey, wanted.partitionKey)
  if (uniqueKeys === undefined) return
  compare('unique keys', present.uniqueKeys ?? [], wanted.uniqueKeys ?? [])
}

/** Another process may make it at the same moment. */
export async function createDatabaseIfNotExists(engine: StorageEngine, id: string): Promise<void> {
  try {
    await engine.createDatabase(id)
  } catch (error) {
    if (errorCode(error) !== 'ERR_EXISTS') throw error
  }
}
