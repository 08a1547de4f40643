import { openStore, verifyMigration } from 'tidemark'
import { mapOrder, migrateOrders, openOrders } from './orders-by-item.ts'

// node src/main.ts             one worker; start as many as you like, end them by SIGTERM
// node src/main.ts --cut-over  when nobody writes to the source any more: waits for the rest, compares, ends

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
const shop = store.database('shop')
const source = await openOrders(shop)
const stopped = new AbortController()
process.once('SIGTERM', () => stopped.abort())
process.once('SIGINT', () => stopped.abort())

const migration = migrateOrders(shop, source, {
  onProgress: ({ state, remaining, lag, ratePerSecond }) =>
    console.log(`${state}: ${remaining} left, lag ${lag}, ${Math.round(ratePerSecond)}/s`),
  onEvent: (event) => {
    if (event.kind !== 'failure') return
    console.error(`${event.what} failed:`, event.error) // it is tried again,
    if (event.what !== 'worker') return // unless the worker itself gave up
    process.exitCode = 1
    stopped.abort()
  },
})
await migration.start()
console.log('ready')
if (process.argv.includes('--cut-over')) {
  await migration.cutOver({ signal: stopped.signal })
  const { target } = migration
  const { same, missing, different, extra } = await verifyMigration({
    source,
    target,
    mapDocument: mapOrder,
  })
  console.log(`${missing.count} missing, ${different.count} different, ${extra.count} extra`)
  if (!same) process.exitCode = 3
} else {
  await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve))
}
await migration.stop() // finishes the batch in flight; the next worker continues from there
await store.close()
