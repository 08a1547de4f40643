import { openMemoryStore } from '@tidemark/testing'
import { messagingConformance } from '@tidemark/testing/conformance'

messagingConformance({
  name: 'memory',
  async open({ clock }) {
    const store = await openMemoryStore({ clock })
    return { store, dispose: () => store.close() }
  },
})
