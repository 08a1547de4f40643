import type { CollectionRecord } from '../engine/catalog.ts'

/**
 * The collections that this store has seen. From it, a handle gets its identity and partition key before its first
 * call. Only a hint: every handle reads its record again on first use.
 */
export class KnownCollections {
  readonly #databases = new Map<string, Map<string, CollectionRecord>>()

  get(databaseId: string, collectionId: string): CollectionRecord | undefined {
    return this.#databases.get(databaseId)?.get(collectionId)
  }

  add(databaseId: string, record: CollectionRecord): void {
    let collections = this.#databases.get(databaseId)
    if (collections === undefined) {
      collections = new Map()
      this.#databases.set(databaseId, collections)
    }
    collections.set(record.id, record)
  }

  remove(databaseId: string, collectionId: string): void {
    this.#databases.get(databaseId)?.delete(collectionId)
  }

  removeDatabase(databaseId: string): void {
    this.#databases.delete(databaseId)
  }
}
