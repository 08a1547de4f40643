import { decodeContinuation, errorCode } from '@tidemark/contracts'
import type { Collection, Store } from '@tidemark/store'

/** A collection with its `database/collection`. */
export interface NamedCollection {
  readonly name: string
  readonly databaseId: string
  readonly collection: Collection
}

/** All collections of a store by `_rid`, which positions use to name their collection. */
export async function collectionsByRid(
  store: Store,
): Promise<ReadonlyMap<string, NamedCollection>> {
  const found = new Map<string, NamedCollection>()
  for (const { databaseId, record } of await store.listCollections()) {
    const { id, rid } = record
    const collection = store.database(databaseId).collection(id)
    found.set(rid, { name: `${databaseId}/${id}`, databaseId, collection })
  }
  return found
}

/** The collection of these positions. Undefined when it is not in this store. */
export function followedCollection(
  collections: ReadonlyMap<string, NamedCollection>,
  continuations: readonly string[],
): NamedCollection | undefined {
  for (const continuation of continuations) {
    try {
      const found = collections.get(decodeContinuation(continuation).collectionRid)
      if (found !== undefined) return found
    } catch (error) {
      // A feed of another kind has texts of its own.
      if (errorCode(error) !== 'ERR_INVALID_CONTINUATION') throw error
    }
  }
  return undefined
}
