import { cosmosDocuments } from '@tidemark/cosmos'
import { DocumentLeaseStore } from '@tidemark/processor'
import { StoreTime, leaseStoreConformance } from '@tidemark/testing/conformance'
import { replaced } from '../gateway-client/store-over-http.fixture.ts'
import { accountUnderTest } from './account-under-test.fixture.ts'

leaseStoreConformance({
  name: 'documents of a container by its official client',
  modelRuns: 3,
  // Nothing wakes a host there.
  hints: false,
  open: async () => {
    const time = new StoreTime()
    const under = await accountUnderTest({ clock: time })
    const leases = (): DocumentLeaseStore => {
      const documents = cosmosDocuments(under.container('leases'))
      // What the suite expects of times is exact, and so are those of its account.
      return new DocumentLeaseStore(replaced(documents, { serverTimeErrorMs: 0 }), { clock: time })
    }
    const close = async (): Promise<void> => under[Symbol.asyncDispose]()
    return { store: leases(), other: leases(), time, close }
  },
})
