import type { Collection, Store } from '@tidemark/store'
import type { CollectionName } from './arguments/parse-arguments.ts'

/** The collection of that name. Rejects with ERR_NOT_FOUND naming what is missing. */
export async function existingCollection(
  store: Store,
  { database, collection }: CollectionName,
): Promise<Collection> {
  const handle = store.database(database).collection(collection)
  await handle.readFeedRanges()
  return handle
}
