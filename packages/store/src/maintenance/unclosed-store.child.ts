import { openMemoryStore } from '@tidemark/testing'

// Leaves the store open: its background work must not keep the process alive.
const store = await openMemoryStore()
const items = await store
  .database('db')
  .createCollectionIfNotExists({ id: 'items', partitionKey: '/id', defaultTtl: 1 })
await items.create({ id: 'a' })
