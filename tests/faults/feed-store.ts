import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store, type Collection } from '@tidemark/store'

export interface Order {
  readonly id: string
  readonly note: string
}

/** The monitored collection, in a folder that several processes share. */
export interface FeedStore {
  readonly orders: Collection<Order>
  close(): Promise<void>
}

/** Opens the store in `folder`; `ranges` counts only for the first one, which makes the collection. */
export async function openFeedStore(folder: string, ranges = 1): Promise<FeedStore> {
  const store = await Store.open({
    engine: await openSqliteEngine({ folder: join(folder, 'store') }),
  })
  const orders = await store.database('shop').createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: ranges,
  })
  return { orders, close: () => store.close() }
}
