import { openStore, verifyMigration } from 'tidemark'
import { mapOrder, migrateOrders, openOrders } from './orders-by-item.ts'

// node src/main.ts             one worker; start as many as you like, end them by SIGTERM
// node src/main.ts --cut-over  when nobody writes to the source any more: waits for the rest, compares, ends

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
const shop = store.database('shop')
const source = await openOrders(shop)
const stopped = new AbortController()
const { signal } = stopped
process.once('SIGTERM', () => stopped.abort())
process.once('SIGINT', () => stopped.abort())

const migration = migrateOrders(shop, source, {
  signal, // finishes the batch in flight; the next worker continues from there
  onProgress: ({ state, remaining, lag, ratePerSecond }) =>
    console.log(`${state}: ${remaining} left, lag ${lag}, ${Math.round(ratePerSecond)}/s`),
  onEvent(event) {
    if (event.kind === 'failure') console.error(`${event.what} failed:`, event.error) // it is tried again
    if (event.kind === 'collision') console.error(`${event.source.id} waits: another has its key`)
  },
})
try {
  await migration.start()
  console.log('ready')
  if (process.argv.includes('--cut-over')) {
    await migration.cutOver()
    const { target } = migration
    const report = await verifyMigration({ source, target, mapDocument: mapOrder, signal })
    const { missing, different, extra, collisions } = report
    console.log(`${missing.count} missing, ${different.count} different, ${extra.count} extra`)
    if (collisions.count > 0) console.log(`${collisions.count} wait: others have their keys`)
    if (!report.same) process.exitCode = 3
  } else {
    await migration.finished // rejects when the worker gave up
  }
} catch (error) {
  if (!signal.aborted) throw error
  process.exitCode = 1 // ended before it was done
}
await migration.stop()
await store.close()
