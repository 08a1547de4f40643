import { openStore } from 'tidemark'
import { keepTotals, openOrders } from './customer-totals.ts'

// Start as many of this process as you like: they share the work by leases.

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
const shop = store.database('shop')
const stopped = new AbortController()
process.once('SIGTERM', () => stopped.abort())
process.once('SIGINT', () => stopped.abort())

const view = keepTotals(shop, await openOrders(shop), { signal: stopped.signal })
await view.start()
console.log('ready')
await view.finished // rejects when it cannot go on at all
await store.close()
