import {
  MemoryLeaseStore,
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openStore,
} from './index.ts'

/* Closes a store under two running hosts: one has its leases in that store, the other elsewhere. Says how they end. */

const store = await openStore({ folder: process.argv[2] ?? '', durability: 'relaxed' })
const shop = store.database('shop')
const orders = await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
const leases = await shop.createCollectionIfNotExists({
  id: 'leases',
  partitionKey: '/partitionKey',
})
await orders.upsert({ id: 'o1' })
const hosts = { inTheStore: new DocumentLeaseStore(leases), elsewhere: new MemoryLeaseStore() }
const seen = Object.entries(hosts).map(async ([name, kept]) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const host = new ChangeFeedProcessorHost({
    hostName: name,
    group: name,
    feed: orders,
    leases: kept,
    feedOptions: { startFromBeginning: true },
  })
  host.on('stopped', ({ error }) => {
    const code = error instanceof Error && 'code' in error ? error.code : error
    process.stdout.write(`${JSON.stringify({ name, code, status: host.health().status })}\n`)
  })
  await host.registerObserver({
    processChanges: async () => resolve(),
  })
  await promise
})
await Promise.all(seen)
await store.close()
