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
const { signal } = stopped
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
  onEvent(event) {
    if (event.kind === 'failure') console.error(`${event.what} failed:`, event.error) // it is tried again
    if (event.kind === 'collision') console.error(`${event.source.id} waits: another has its key`)
  },
  onProgress: ({ state, remaining, lag }) =>
    console.error(`${state}: ${remaining} left, lag ${lag}`),
  signal, // finishes the batch in flight; the next worker continues from there
})

try {
  await migration.start()
  console.error('ready')
  if (process.argv.includes('--cut-over')) {
    await migration.cutOver()
    const { target } = migration
    const report = await verifyMigration({ source, target, mapDocument, signal })
    const { missing, different, extra, collisions } = report
    console.log(`${missing.count} missing, ${different.count} different, ${extra.count} extra`)
    if (collisions.count > 0) console.log(`${collisions.count} wait: others have their keys`)
    if (!report.same) process.exitCode = 3
  } else await migration.finished // rejects when the worker gave up
} catch (error) {
  if (!signal.aborted) throw error
  process.exitCode = 1 // ended before it was done
}
await migration.stop()
await store.close()
