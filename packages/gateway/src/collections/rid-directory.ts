import { ResourceNotFoundError } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import type { ResourcePath } from '../protocol/resource-path.ts'

/** Beyond this names are looked up again. */
const MAX_NAMES = 10_000

/**
 * Finds databases and containers by `_rid`. A `_rid` is given once and a name never changes, so that a name that was
 * found stays right. Whether it is still the same resource that has it is asked each time.
 */
export class RidDirectory {
  readonly #store: Store
  readonly #names = new Map<string, string>()

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * A path of `_rid`s with names in their place; only a document stays named by its `_rid`. What the container's
   * `_rid` is worth `CollectionDirectory` sees when the container is used.
   *
   * Rejects with ERR_NOT_FOUND.
   */
  async named(path: ResourcePath): Promise<ResourcePath> {
    const [, databaseRid = '', type, collectionRid] = path.segments
    const segments = [...path.segments]
    const database = await this.#databaseName(databaseRid)
    segments[1] = database
    if (type !== 'colls' || collectionRid === undefined) {
      const { rid } = await this.#store.database(database).readRecord()
      if (rid !== databaseRid) throw new ResourceNotFoundError('database', databaseRid)
      return { ...path, raw: rawOf(segments), segments }
    }
    segments[3] = await this.#collectionName(database, collectionRid)
    return { ...path, raw: rawOf(segments), segments, collectionRid }
  }

  #databaseName(rid: string): Promise<string> {
    return this.#nameOf('database', rid, () => this.#store.listDatabases())
  }

  #collectionName(database: string, rid: string): Promise<string> {
    return this.#nameOf('collection', rid, () => this.#store.database(database).listCollections())
  }

  async #nameOf(
    kind: 'database' | 'collection',
    rid: string,
    list: () => Promise<readonly { readonly rid: string; readonly id: string }[]>,
  ): Promise<string> {
    const known = this.#names.get(rid)
    if (known !== undefined) return known
    const found = (await list()).find((one) => one.rid === rid)
    if (found === undefined) throw new ResourceNotFoundError(kind, rid)
    if (this.#names.size >= MAX_NAMES) this.#names.clear()
    this.#names.set(rid, found.id)
    return found.id
  }
}

function rawOf(segments: readonly string[]): string {
  return segments.map(encodeURI).join('/')
}
