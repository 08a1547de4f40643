import { parseArgs } from 'node:util'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openStore,
  type Change,
  type IChangeFeedObserver,
  type ObserverContext,
} from 'tidemark'

/*
 * A long-running worker: start as many of it as you like, with different names, in any order; stop them
 * with SIGTERM. They share the work, and every change of `shop/orders` is handled at least once, in order
 * for each customer.
 */

interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: './data' },
    name: { type: 'string', default: `worker-${process.pid}` },
  },
})

/** What is done with each change. Replace it with your own. */
class PrintOrders implements IChangeFeedObserver<Order> {
  async processChanges(context: ObserverContext, changes: readonly Change<Order>[]): Promise<void> {
    for (const change of changes) {
      // Another worker may have the range soon: what is not done by now is delivered again, to it.
      context.signal.throwIfAborted()
      if (change.kind !== 'document') continue
      const { id, customerId, total } = change.document
      // At least once: after a crash the last batch comes again. `lsn` tells versions of one order apart.
      console.log(JSON.stringify({ id, customerId, total, lsn: change.lsn }))
    }
    // When this resolves, the position is stored. When it rejects, the batch comes again after a pause.
  }
}

const store = await openStore(values.store)
const shop = store.database('shop')
const orders = await shop.createCollectionIfNotExists<Order>({
  id: 'orders',
  partitionKey: '/customerId',
  partitionCount: 4, // as many workers can work at the same time
})
const leases = await shop.createCollectionIfNotExists({
  id: 'leases',
  partitionKey: '/partitionKey',
})

const host = new ChangeFeedProcessorHost<Order>({
  hostName: values.name,
  group: 'print-orders', // each group sees every change
  feed: orders,
  leases: new DocumentLeaseStore(leases), // or new RedisLeaseStore(redis), for several machines
  feedOptions: { startFromBeginning: true },
})
host
  .on('leaseAcquired', ({ leaseId }) => console.error(`${values.name} got ${leaseId}`))
  .on('leaseLost', ({ leaseId, cause }) =>
    console.error(`${values.name} lost ${leaseId}: ${cause}`),
  )
  .on('leaseStoreDurability', ({ level, findings }) =>
    console.error(`leases: durability level ${level} (${findings.join('; ')})`),
  )
  .on('observerError', ({ error, attempt }) => console.error(`attempt ${attempt} failed:`, error))

const stopped = new Promise<void>((resolve) => {
  process.once('SIGTERM', () => resolve())
  process.once('SIGINT', () => resolve())
  // The host gives up only when it cannot go on at all.
  host.on('stopped', () => resolve())
})

await host.registerObserver(PrintOrders)
console.error(`${values.name} is ready`)
await stopped
// Finishes the batches in flight, stores the positions and hands the ranges over.
await host.unregisterObservers()
await store.close()
