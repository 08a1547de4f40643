import { ChangeFeedProcessorHost, DocumentLeaseStore, openStore } from 'tidemark'
import { SendReceipts, type Mailer, type Order } from './receipts.ts'

// Start as many of this process as you like: they share the orders by leases.

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
const shop = store.database('shop')
const orders = await shop.createCollectionIfNotExists<Order>({
  id: 'orders',
  partitionKey: '/customerId',
  partitionCount: 4, // as many workers can work at the same time
})

/** Replace it with your mail service. */
const mailer: Mailer = {
  async send(key, { orderId, to, total }) {
    console.log(`receipt ${key} to ${to}: order ${orderId}, ${total}`)
  },
}

const host = new ChangeFeedProcessorHost<Order>({
  group: 'receipts', // each group sees every change
  feed: orders,
  leases: new DocumentLeaseStore(shop.collection('leases')),
  feedOptions: { startFromBeginning: true, mode: 'latestVersion' }, // 'allVersions': each version, and deletes
})
const ended = new Promise<unknown>((resolve) => {
  process.once('SIGTERM', () => resolve(undefined))
  process.once('SIGINT', () => resolve(undefined))
  host.on('stopped', ({ error }) => resolve(error)) // it cannot go on
})

await host.registerObserver(new SendReceipts(mailer))
console.log('ready')
if ((await ended) !== undefined) process.exitCode = 1 // the host's log has said why
await host.unregisterObservers() // finishes, stores the positions, hands the leases over
await store.close()
