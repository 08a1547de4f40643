import {
  decodeContinuation,
  errorCode,
  type GroupFeed,
  type LeaseGroupSnapshot,
} from '@tidemark/contracts'
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

/** What tells which collection a group follows. */
export interface Followed {
  /** What the lease store has noted. */
  readonly feed?: GroupFeed | undefined
  /** Positions of its leases. */
  readonly continuations: readonly string[]
}

export function followedIn({ feed, leases }: LeaseGroupSnapshot): Followed {
  return { feed, continuations: leases.map(({ checkpoint }) => checkpoint.continuation) }
}

/** The collection that a group follows. Undefined when it is not in this store. */
export function followedCollection(
  collections: ReadonlyMap<string, NamedCollection>,
  { feed, continuations }: Followed,
): NamedCollection | undefined {
  const noted = feed && collections.get(feed.rid)
  if (noted !== undefined) return noted
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

/** The collection that has the name now of the one that a group follows: it was dropped and created again. */
export function namesakeOf(
  collections: ReadonlyMap<string, NamedCollection>,
  { feed }: Followed,
): NamedCollection | undefined {
  return [...collections.values()].find(({ name }) => name === feed?.name)
}
