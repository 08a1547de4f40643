import { Store } from '@tidemark/store'
import { openSqliteEngine } from './sqlite-engine.ts'

/* Closes a store while writes wait for the disk, and nothing else keeps the process alive. */

const store = await Store.open({
  engine: await openSqliteEngine({ folder: process.argv[2] ?? '' }),
})
const collection = await store
  .database('db')
  .createCollectionIfNotExists({ id: 'coll', partitionKey: '/id' })
const writes = Array.from({ length: 200 }, (_, n) => collection.upsert({ id: `d${n}` }))
const closing = store.close()
await Promise.allSettled(writes)
await closing
