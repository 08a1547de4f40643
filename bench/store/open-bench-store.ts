import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store, type Collection } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'

/** Ranges of the orders, as many as the prototype has segments. */
export const PARTITION_COUNT = 4

/** The store that every scenario measures: orders, and beside them the leases of their readers. */
export interface BenchStore extends AsyncDisposable {
  readonly orders: Collection<OrderDocument>
  readonly leases: Collection
  close(): Promise<void>
}

/** Opens the store in `folder`, beside what the limits keep there, and makes what is missing. Any number of processes may open one. */
export async function openBenchStore(folder: string): Promise<BenchStore> {
  const store = await Store.open({
    engine: await openSqliteEngine({ folder: join(folder, 'store') }),
  })
  const database = await store.createDatabaseIfNotExists('shop')
  const orders = await database.createCollectionIfNotExists<OrderDocument>({
    id: 'orders',
    partitionKey: '/customerId',
    partitionCount: PARTITION_COUNT,
  })
  const leases = await database.createCollectionIfNotExists({
    id: 'leases',
    partitionKey: '/partitionKey',
  })
  return { orders, leases, close: () => store.close(), [Symbol.asyncDispose]: () => store.close() }
}
