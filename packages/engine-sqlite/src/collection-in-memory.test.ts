import { openMemoryStore } from '@tidemark/testing'
import { collectionConformance } from '@tidemark/testing/conformance'

collectionConformance({
  name: 'memory',
  async open({ clock, maintenance }) {
    const store = await openMemoryStore({ clock, maintenance })
    return { store, dispose: () => store.close() }
  },
})
