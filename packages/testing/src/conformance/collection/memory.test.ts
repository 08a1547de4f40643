import { MemoryStorageEngine, Store } from '@tidemark/store'
import { collectionConformance } from './suite.ts'

collectionConformance({
  name: 'memory',
  async open({ clock, maintenance }) {
    const store = await Store.open({ engine: new MemoryStorageEngine({ clock }), maintenance })
    return { store, dispose: () => store.close() }
  },
})
