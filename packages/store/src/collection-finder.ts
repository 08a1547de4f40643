import { ResourceNotFoundError, errorCode, type Presence } from '@tidemark/contracts'
import { DocumentStamp } from '@tidemark/contracts/internal'
import type { CollectionOptions } from './catalog/collection-options.ts'
import type { KnownCollections } from './catalog/known-collections.ts'
import { collectionSelfLink } from './engine/resource-ids.ts'
import { DocumentEncoder } from './documents/document-encoder.ts'
import type { OpenCollection } from './documents/open-collection.ts'
import type { CollectionRecord } from './engine/catalog.ts'
import type { DatabaseEngine } from './engine/storage-engine.ts'
import type { StoreEventEmitter } from './events/store-event-emitter.ts'
import { ReadingTurns } from './paging/reading-turns.ts'

/** Where a collection handle finds its collection. */
export interface CollectionLocation {
  readonly storeId: string
  readonly databaseId: string
  readonly id: string
  readonly presence: Presence | undefined
  readonly known: KnownCollections
  readonly events: Pick<StoreEventEmitter, 'emit'>
  readonly maxDocumentBytes: number
  openDatabase(): Promise<DatabaseEngine>
  /** Creates the collection, and also its database, if they do not exist. */
  create(options: Omit<CollectionOptions, 'id'>): Promise<void>
}

/** A collection that was found already, so its handle does not need to look it up. */
export interface FoundCollection {
  readonly engine: DatabaseEngine
  readonly record: CollectionRecord
}

/** Finds a handle's collection by name once, and keeps it. */
export class CollectionFinder {
  readonly #location: CollectionLocation
  #opening: Promise<OpenCollection> | undefined
  #opened: OpenCollection | undefined

  constructor(location: CollectionLocation, found: FoundCollection | undefined) {
    this.#location = location
    this.#opened = found && this.#openOf(found)
  }

  /** Undefined until the collection is found. */
  get opened(): OpenCollection | undefined {
    return this.#opened
  }

  /** A record that this store has seen at some time. Rely only on the fields that never change. */
  get knownRecord(): CollectionRecord | undefined {
    const { known, databaseId, id } = this.#location
    return this.#opened?.record ?? known.get(databaseId, id)
  }

  /** Rejects with ERR_NOT_FOUND. */
  async open(): Promise<OpenCollection> {
    if (this.#opened !== undefined) return this.#opened
    this.#opening ??= this.#find()
    try {
      this.#opened = await this.#opening
      return this.#opened
    } finally {
      this.#opening = undefined
    }
  }

  #openOf({ engine, record }: FoundCollection): OpenCollection {
    const encoder = new DocumentEncoder(record, this.#location.maxDocumentBytes)
    const { number, rid } = record
    const stamp = new DocumentStamp({ number, rid, selfLink: collectionSelfLink(record) })
    return { engine, record, encoder, stamp, turns: new ReadingTurns() }
  }

  async #find(): Promise<OpenCollection> {
    const { known, databaseId, id } = this.#location
    try {
      const engine = await this.#location.openDatabase()
      const record = await engine.readCollection(id)
      if (record === undefined) throw new ResourceNotFoundError('collection', id)
      known.add(databaseId, record)
      return this.#openOf({ engine, record })
    } catch (error) {
      if (errorCode(error) === 'ERR_NOT_FOUND') known.remove(databaseId, id)
      throw error
    }
  }
}
