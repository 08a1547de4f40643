import { FakeDocumentCollection } from '@tidemark/testing'
import { leaseStoreConformance, StoreTime } from '@tidemark/testing/conformance'
import { DocumentLeaseStore } from './document-lease-store.ts'

leaseStoreConformance({
  name: 'documents of a fake collection',
  modelRuns: 100,
  async open() {
    const time = new StoreTime()
    const collection = new FakeDocumentCollection({ clock: time })
    const store = new DocumentLeaseStore(collection, { clock: time })
    const other = new DocumentLeaseStore(collection, { clock: time })
    return { store, other, time, close: async () => {} }
  },
})
