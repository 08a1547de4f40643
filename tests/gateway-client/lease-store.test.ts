import { CosmosDocumentCollection, type CosmosConnectionOptions } from '@tidemark/gateway/client'
import { DocumentLeaseStore } from '@tidemark/processor'
import {
  StoreTime,
  leaseStoreConformance,
  type LeaseStoreUnderTest,
} from '@tidemark/testing/conformance'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'
import { plainServerFetch } from './plain-server.fixture.ts'
import { replaced } from './store-over-http.fixture.ts'

const CONTAINER = { database: 'shop', container: 'leases' }

async function leasesOver(
  time: StoreTime,
  options: Partial<CosmosConnectionOptions>,
  // What the suite expects of times is exact, and so are those of its plain server.
  exact: object = {},
): Promise<LeaseStoreUnderTest> {
  const under = await gatewayUnderTest({ clock: time })
  const leases = (): DocumentLeaseStore => {
    const collection = new CosmosDocumentCollection(under.connect(options), CONTAINER)
    return new DocumentLeaseStore(replaced(collection, exact), { clock: time })
  }
  const close = async (): Promise<void> => under[Symbol.asyncDispose]()
  return { store: leases(), other: leases(), time, close }
}

leaseStoreConformance({
  name: 'documents of a container over HTTP',
  modelRuns: 10,
  open: () => leasesOver(new StoreTime(), {}),
})

leaseStoreConformance({
  name: 'documents of a container by the plain protocol',
  modelRuns: 10,
  // Nothing wakes a host there.
  hints: false,
  open: () => {
    const time = new StoreTime()
    return leasesOver(time, { fetch: plainServerFetch(time) }, { serverTimeErrorMs: 0 })
  },
})
