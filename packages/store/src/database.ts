import { errorCode, ResourceNotFoundError, type DocumentBody } from '@tidemark/contracts'
import { checkOptions } from '@tidemark/contracts/internal'
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
import { batchRules } from './documents/outbox.ts'
import { fenceRule } from './documents/write-rules.ts'
import { Collection } from './collection.ts'
import type { CollectionLocation, FoundCollection } from './collection-finder.ts'
import type { CollectionRecord, DatabaseRecord } from './engine/catalog.ts'
import type { DatabaseEngine, StorageEngine } from './engine/storage-engine.ts'
import type { StoreEventEmitter } from './events/store-event-emitter.ts'
import type { MessageEngine } from './messages/message-engine.ts'
import { CollectionMismatchError } from './errors/collection-mismatch-error.ts'

/** What the handles of one store share. */
export interface StoreContext {
  readonly engine: StorageEngine
  readonly known: KnownCollections
  readonly events: StoreEventEmitter
  readonly maxDocumentBytes: number
}

/**
 * A handle on one database, found by name at each call. Making a handle does no I/O. Every method rejects with
 * ERR_NOT_FOUND while the database does not exist, except `createCollectionIfNotExists`, which creates it.
 */
export class Database {
  readonly id: string
  readonly #context: StoreContext

  /** @throws ERR_INVALID_OPTION for an id that no database can have */
  /** @internal Use `store.database(id)`. */
  constructor(id: string, context: StoreContext) {
    this.id = checkedResourceId('database', id)
    this.#context = context
  }

  /** Store id and name. */
  get identity(): string {
    return `${this.#context.engine.storeId}/dbs/${this.id}`
  }

  /** The present record of the database. Other processes can change it at any time. */
  async readRecord(): Promise<DatabaseRecord> {
    const record = await this.#context.engine.readDatabase(this.id)
    if (record === undefined) throw new ResourceNotFoundError('database', this.id)
    return record
  }

  /**
   * Stores your own text with the database and replaces the previous one; see `CollectionSettings`. Rejects with
   * ERR_PRECONDITION_FAILED when `ifMatch` is given and is not the etag of the present record.
   */
  async annotate(
    annotation: string,
    options: { readonly ifMatch?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    const checked = checkedAnnotation(annotation)
    return this.#context.engine.annotateDatabase(await this.readRecord(), checked, options)
  }

  /**
   * A handle on a collection that does not need to exist yet.
   *
   * @throws ERR_INVALID_OPTION for an id that no collection can have
   */
  collection<T extends DocumentBody = DocumentBody>(id: string): Collection<T> {
    return new Collection<T>(this.#location(id))
  }

  /** Rejects with ERR_EXISTS, and with ERR_INVALID_OPTION or ERR_INVALID_PARTITION_KEY for invalid options. */
  async createCollection<T extends DocumentBody = DocumentBody>(
    options: CollectionOptions,
  ): Promise<Collection<T>> {
    const { id, definition, ranges } = resolveCollectionOptions(options)
    const engine = await this.#open()
    return this.#found<T>({ engine, record: await engine.createCollection(id, definition, ranges) })
  }

  /**
   * Creates the collection, and also the database, if they do not exist. Safe to call concurrently.
   *
   * An existing collection stays as it is. If its partition key differs, or a setting or unique keys that the options name, the call
   * rejects with ERR_COLLECTION_MISMATCH: change it by `updateSettings`. What the options do not name may differ, and the number of
   * pkranges (it may have been split), groups in `waitFor` besides those named, and the annotation.
   */
  async createCollectionIfNotExists<T extends DocumentBody = DocumentBody>(
    options: CollectionOptions,
  ): Promise<Collection<T>> {
    const resolved = resolveCollectionOptions(options)
    const found = await this.#findOrCreate(resolved)
    assertKeys(found.record, resolved, options)
    assertSettings(found.record, resolved, options)
    return this.#found<T>(found)
  }

  async listCollections(): Promise<readonly CollectionRecord[]> {
    const records = await (await this.#open()).listCollections()
    for (const record of records) this.#context.known.add(this.id, record)
    return records
  }

  /** Deletes the collection with its documents. Rejects with ERR_NOT_FOUND. */
  async deleteCollection(id: string): Promise<void> {
    this.#context.known.remove(this.id, id)
    await (await this.#open()).deleteCollection(id)
  }

  /**
   * Commits writes to several partition key values and collections of this database as one. For jobs that move
   * documents between them: a worker that has lost its lease must not repeat the move.
   *
   * Rejects with ERR_FENCED_WRITE when a later owner has written. Rejects with ERR_ATOMIC_WRITE_FAILED, naming the
   * write, when its condition does not hold, its document is invalid or its collection is gone. Rejects with
   * ERR_INVALID_OPTION for no writes or a collection of another database. Rejects with ERR_COMMIT_TOO_LARGE for more
   * than 10,000 writes and messages, or more than 64 MiB of them (or than `maxDocumentBytes` plus 1 MiB, if that is
   * more).
   */
  async commitAtomically(
    writes: readonly AtomicWrite[],
    options: AtomicCommitOptions = {},
  ): Promise<AtomicCommitResult> {
    checkOptions(options, { ...batchRules, fence: fenceRule })
    const { maxDocumentBytes } = this.#context
    return commitAtomically(await this.#open(), writes, { ...options, maxDocumentBytes })
  }

  /**
   * Finds contradictions between documents, indexes, ranges and counters. Normally there are none. Reads everything.
   */
  async check(): Promise<readonly string[]> {
    return (await this.#open()).check()
  }

  /** For `openMessaging`: the engine of this database's messages. */
  async openMessages(): Promise<MessageEngine> {
    return (await this.#open()).messages
  }

  /** For the messages of a commit: whether `openMessages` opens this engine. */
  async hasMessages(engine: MessageEngine): Promise<boolean> {
    return (await this.#open()).messages === engine
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
      presence: engine.presence,
      known,
      events,
      maxDocumentBytes,
      openDatabase: () => this.#open(),
      create: async (options) => {
        const named = { ...options, id }
        const resolved = resolveCollectionOptions(named)
        assertSettings((await this.#findOrCreate(resolved)).record, resolved, named)
      },
    }
  }
}

/** Checks that the existing collection has the keys that cannot change; unique keys only if the options name them. */
function assertKeys(
  { id, definition: present }: CollectionRecord,
  { definition: wanted }: ResolvedCollectionOptions,
  { uniqueKeys }: Pick<CollectionOptions, 'uniqueKeys'>,
): void {
  const change = 'it can not be changed, migrate it into a new collection'
  const { partitionKey } = present
  assertEqual(id, {
    what: 'partition key',
    present: partitionKey,
    wanted: wanted.partitionKey,
    change,
  })
  if (uniqueKeys === undefined) return
  const keys = { present: present.uniqueKeys ?? [], wanted: wanted.uniqueKeys ?? [] }
  assertEqual(id, { what: 'unique keys', ...keys, change })
}

/** Checks that the existing collection has the settings that the options name. */
function assertSettings(
  { id, definition: present }: CollectionRecord,
  { definition: wanted }: ResolvedCollectionOptions,
  named: Partial<CollectionOptions>,
): void {
  const change = 'change it by updateSettings, or leave it out'
  const compare = (what: string, there: unknown, asked: unknown): void =>
    assertEqual(id, { what, present: there, wanted: asked, change })
  for (const setting of ['defaultTtl', 'indexingMode', 'allVersions', 'splitAboveBytes'] as const) {
    if (named[setting] === undefined) continue
    compare(setting, present[setting], wanted[setting])
  }
  const { retentionSeconds, waitFor } = named.pendingDeletes ?? {}
  if (retentionSeconds !== undefined) {
    const there = present.pendingDeletes.retentionSeconds
    compare('pendingDeletes.retentionSeconds', there, retentionSeconds)
  }
  // An archive adds its own.
  const { waitFor: groups } = present.pendingDeletes
  const isThere = waitFor?.every((group) => groups.includes(group)) ?? true
  if (!isThere) compare('pendingDeletes.waitFor', groups, waitFor)
}

function assertEqual(
  id: string,
  {
    present,
    wanted,
    ...about
  }: {
    readonly what: string
    readonly present: unknown
    readonly wanted: unknown
    readonly change: string
  },
): void {
  const [there, asked] = [JSON.stringify(present), JSON.stringify(wanted)]
  if (there !== asked)
    throw new CollectionMismatchError(id, { ...about, present: there, wanted: asked })
}

/** Another process may create it at the same moment. */
export async function createDatabaseIfNotExists(engine: StorageEngine, id: string): Promise<void> {
  try {
    await engine.createDatabase(id)
  } catch (error) {
    if (errorCode(error) !== 'ERR_EXISTS') throw error
  }
}
