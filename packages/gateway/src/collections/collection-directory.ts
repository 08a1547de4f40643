import { ResourceNotFoundError } from '@tidemark/contracts'
import { ContainerReplacedError } from '../errors/container-replaced-error.ts'
import { OtherContainerError } from '../errors/other-container-error.ts'
import type { Collection, Store } from '@tidemark/store'
import type { OpenCollection } from '@tidemark/store/engine'

/** A collection that was found, with what lies below its documents. */
export interface FoundCollection {
  readonly collection: Collection
  readonly open: OpenCollection
}

/** A collection by name. */
export interface CollectionNames {
  readonly database: string
  readonly collection: string
  /** Of the one that is meant, where a client said so: another one of that name is not it. */
  readonly rid?: string | undefined
}

/** Most handles that are kept. They are small, but clients choose the names. */
const MAX_HANDLES = 10_000

/**
 * Handles of collections by name. A handle stays with the collection that it found; when that one is gone, perhaps
 * through another process, the name is looked up once more.
 */
export class CollectionDirectory {
  readonly #store: Store
  readonly #found = new Map<string, FoundCollection>()

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Acts on the collection of that name; a second time if the one that was known is gone.
   *
   * @throws ERR_NOT_FOUND, and what `act` throws
   */
  async use<Result>(
    names: CollectionNames,
    act: (found: FoundCollection) => Promise<Result>,
  ): Promise<Result> {
    const key = keyOf(names)
    const known = this.#found.get(key)
    if (known === undefined || !isMeant(names, known.open.record)) {
      return act(await this.#find(names))
    }
    try {
      return await act(known)
    } catch (error) {
      if (!isGone(error)) throw error
      this.#found.delete(key)
      return act(await this.#find(names))
    }
  }

  /** The next use of the name looks it up. */
  forget(names: CollectionNames): void {
    this.#found.delete(keyOf(names))
  }

  /** The next use of every name looks it up: a database with all its collections is gone. */
  forgetAll(): void {
    this.#found.clear()
  }

  async #find(names: CollectionNames): Promise<FoundCollection> {
    const collection = this.#store.database(names.database).collection(names.collection)
    const found = { collection, open: await collection.open() }
    if (this.#found.size >= MAX_HANDLES) this.#found.clear()
    this.#found.set(keyOf(names), found)
    assertMeant(names, found.open.record)
    return found
  }
}

/** @throws ERR_NOT_FOUND when another collection has that name now */
export function assertMeant(names: CollectionNames, record: { readonly rid: string }): void {
  if (!isMeant(names, record)) throw new ResourceNotFoundError('collection', names.collection)
}

function isMeant({ rid }: CollectionNames, record: { readonly rid: string }): boolean {
  return rid === undefined || rid === record.rid
}

function keyOf({ database, collection }: CollectionNames): string {
  // No name has a slash.
  return `${database}/${collection}`
}

function isGone(error: unknown): boolean {
  if (error instanceof OtherContainerError || error instanceof ContainerReplacedError) return true
  return (
    error instanceof ResourceNotFoundError &&
    (error.resource === 'collection' || error.resource === 'database')
  )
}
