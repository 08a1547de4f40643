import { MemoryStorageEngine, Store } from '@tidemark/store'
import { collectionConformance } from './collection.ts'

collectionConformance({
  name: 'memory',
  async open() {
    const store = await Store.open({ engine: new MemoryStorageEngine() })
    return { store, dispose: () => store.close() }
  },
})
