import { CosmosDocumentCollection } from '@tidemark/gateway/client'
import { DocumentLeaseStore } from '@tidemark/processor'
import {
  StoreTime,
  leaseStoreConformance,
  type LeaseStoreUnderTest,
} from '@tidemark/testing/conformance'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'

const CONTAINER = { database: 'shop', container: 'leases' }

async function leasesOver(time: StoreTime): Promise<LeaseStoreUnderTest> {
  const under = await gatewayUnderTest({ clock: time })
  const leases = (): DocumentLeaseStore => {
    const collection = new CosmosDocumentCollection(under.connect(), CONTAINER)
    return new DocumentLeaseStore(collection, { clock: time })
  }
  const close = async (): Promise<void> => under[Symbol.asyncDispose]()
  return { store: leases(), other: leases(), time, close }
}

leaseStoreConformance({
  name: 'documents of a container over HTTP',
  modelRuns: 10,
  open: () => leasesOver(new StoreTime()),
})
