import { Redis } from 'ioredis'
import { ChangeFeedProcessorHost, openStore, RedisLeaseStore } from 'tidemark'
import type { Change, ISingleChangeObserver, ObserverContext } from 'tidemark'

// A long-running worker: start as many of it as you like, in any order, and stop them with SIGTERM. They share the work by leases on
// Redis; every change of `shop/orders` is handled at least once, in order for each customer.

interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

/** What is done with each change. Replace it with your own. */
class PrintOrders implements ISingleChangeObserver<Order> {
  async processChange(_context: ObserverContext, change: Change<Order>): Promise<void> {
    if (change.kind !== 'document') return
    // At least once: after a crash the last changes come again. `lsn` tells versions of one order apart.
    console.log(JSON.stringify({ ...change.document, lsn: change.lsn }))
    // When this resolves, the change does not come again but after a crash. When it rejects, it comes again after a pause.
  }
}

const { TIDEMARK_STORE = './data', REDIS_URL = 'redis://127.0.0.1:6379', WORKER } = process.env
const store = await openStore(TIDEMARK_STORE) // a folder, or postgres://… for several machines
const orders = await store.database('shop').createCollectionIfNotExists<Order>({
  id: 'orders',
  partitionKey: '/customerId',
  partitionCount: 4, // as many workers can work at the same time
})
const redis = new Redis(REDIS_URL, { maxRetriesPerRequest: null }) // it waits out a restart
redis.on('error', (error) => console.error(`redis: ${error.message}`))
const host = new ChangeFeedProcessorHost<Order>({
  hostName: WORKER, // a stable name, such as that of the pod, takes its leases back at once
  group: 'print-orders', // each group sees every change
  feed: orders,
  leases: new RedisLeaseStore(redis), // refuses a Redis that keeps nothing, and warns of one with snapshots only
  feedOptions: { startFromBeginning: true, mode: 'latestVersion' }, // 'allVersions': each version, and deletes
})
const ended = new Promise<unknown>((resolve) => {
  process.once('SIGTERM', () => resolve(undefined))
  process.once('SIGINT', () => resolve(undefined))
  host.on('stopped', ({ error }) => resolve(error)) // it gives up only when it cannot go on at all
})

await host.registerObserver(PrintOrders)
console.error('ready')
if ((await ended) !== undefined) process.exitCode = 1
await host.unregisterObservers() // finishes, stores the positions and hands the ranges over
await redis.quit()
await store.close()
