import { MemoryStorageEngine } from '../memory-engine/memory-storage-engine.ts'
import { Store } from '../store.ts'

// Leaves the store open: its background work must not keep the process alive.
const store = await Store.open({ engine: new MemoryStorageEngine() })
const items = await store
  .database('db')
  .createCollectionIfNotExists({ id: 'items', partitionKey: '/id', defaultTtl: 1 })
await items.create({ id: 'a' })
