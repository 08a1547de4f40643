import { leaseStoreConformance, StoreTime } from '@tidemark/testing/conformance'
import { MemoryLeaseStore } from './memory-lease-store.ts'

leaseStoreConformance({
  name: 'memory',
  modelRuns: 100,
  timeGoesBack: true,
  async open() {
    const time = new StoreTime()
    const store = new MemoryLeaseStore({ clock: time })
    return { store, other: store, time, close: async () => {} }
  },
})
