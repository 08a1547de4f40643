import { DocumentLeaseStore, migrateCollection, openStore, verifyMigration } from 'tidemark'

// Copies `shop/orders` into `shop/ordersByItem` while the source is written to, with its deletes: start as many of it as you like, and
// end them by SIGTERM. With `--cut-over`, when nobody writes any more: waits for the rest, compares both sides, and ends.

interface Order {
  readonly id: string
  readonly customerId: string
  readonly itemId: string
  readonly total: number
}

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
const shop = store.database('shop')
const source = shop.collection<Order>('orders')
// Deletes are read from the log of all versions. Turn it on before the first document is copied.
await source.updateSettings({ allVersions: { retentionSeconds: 7 * 86_400 } })

const stopped = new AbortController()
process.once('SIGTERM', () => stopped.abort())
process.once('SIGINT', () => stopped.abort())

const mapDocument = (order: Order): Order => ({ ...order }) // undefined would leave it out
const migration = migrateCollection<Order, Order>({
  job: 'orders-by-item', // workers with the same name share the work
  source,
  target: { database: shop, id: 'ordersByItem', partitionKey: '/itemId' }, // created if it is missing
  leases: new DocumentLeaseStore(shop.collection('leases')),
  mapDocument,
  deletes: 'apply',
  onEvent: (event) => {
    if (event.kind !== 'failure') return
    console.error(`${event.what} failed:`, event.error) // it is tried again, unless the worker itself gave up
    if (event.what !== 'worker') return
    process.exitCode = 1
    stopped.abort()
  },
  onProgress: ({ state, remaining, lag }) =>
    console.error(`${state}: ${remaining} left, lag ${lag}`),
})

await migration.start()
console.error('ready')
if (process.argv.includes('--cut-over')) {
  await migration.cutOver({ signal: stopped.signal })
  const { target } = migration
  const { same, missing, different, extra } = await verifyMigration({ source, target, mapDocument })
  console.log(`${missing.count} missing, ${different.count} different, ${extra.count} extra`)
  if (!same) process.exitCode = 3
} else {
  await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve))
}
await migration.stop() // finishes the batch in flight; the next worker continues from there
await store.close()
