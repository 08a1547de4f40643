import { openMessaging, openStore } from 'tidemark'
import { handleOrders, openQueue } from './orders-queue.ts'

// Start as many of this process as you like: each order goes to one of them.

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
await store.createDatabaseIfNotExists('shop')
const broker = openMessaging(store.database('shop'))
await openQueue(broker)
const handling = handleOrders(broker, async ({ id, total }) => {
  console.log(`order ${id}: ${total}`) // replace it with your work
})
console.log('ready')

await new Promise((resolve) => {
  process.once('SIGTERM', resolve)
  process.once('SIGINT', resolve)
})
await handling.close()
await broker.close()
await store.close()
