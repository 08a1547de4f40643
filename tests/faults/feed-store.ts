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
  /** For leases; made when it is needed. */
  readonly leases: Collection
  close(): Promise<void>
}

/** Opens the store in `folder`; `ranges` counts only for the first one, which makes the collection. */
export async function openFeedStore(folder: string, ranges = 1): Promise<FeedStore> {
  const store = await Store.open({
    engine: await openSqliteEngine({ folder: join(folder, 'store') }),
  })
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: ranges,
  })
  return { orders, leases: shop.collection('leases'), close: () => store.close() }
}
