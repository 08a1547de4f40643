import { ChangeFeedProcessorHost, DocumentLeaseStore, type Store } from '../index.ts'

/** A collection `shop/orders`, and a group that follows it. */
export const LEASES = 'shop/leases'
export const MIRROR: { readonly leases: string; readonly group: string } = {
  leases: LEASES,
  group: 'mirror',
}
export const ORDERS: { readonly database: string; readonly collection: string } = {
  database: 'shop',
  collection: 'orders',
}

interface Order {
  readonly id: string
  readonly total: number
}

export async function write(store: Store, count: number, from = 0): Promise<void> {
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/id', partitionCount: 4 })
  for (let n = from; n < from + count; n += 1) await orders.upsert({ id: `o${n}`, total: n })
}

/** `seen`: ids of what its observer gets. */
export async function startHost(
  store: Store,
  { hostName = 'worker-1', seen = [] }: { hostName?: string; seen?: string[] } = {},
): Promise<ChangeFeedProcessorHost> {
  const shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
  const host = new ChangeFeedProcessorHost({
    hostName,
    group: 'mirror',
    feed: shop.collection('orders'),
    leases: new DocumentLeaseStore(shop.collection('leases')),
    feedOptions: { startFromBeginning: true },
  })
  await host.registerObserver({
    processChanges: (_, changes) => void seen.push(...changes.map(({ id }) => id)),
  })
  return host
}
