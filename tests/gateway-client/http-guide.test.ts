import { readFile } from 'node:fs/promises'
import type { IChangeFeedObserver } from '@tidemark/contracts'
import {
  CosmosConnection,
  CosmosDocumentCollection,
  openChangeFeed,
  readCosmosLeasePrefix,
} from '@tidemark/gateway/client'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { expect, test } from 'vitest'
import { TEST_KEY, gatewayUnderTest } from './gateway-under-test.fixture.ts'

/* The snippets of the guide, word for word. */

interface Order {
  readonly id: string
}

test('http.md: a worker that knows an endpoint, the ids of leases', async () => {
  await using under = await gatewayUnderTest()
  const orders = await under.store
    .database('shop')
    .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/id' })
  await orders.create({ id: 'o1' })
  const { endpoint } = under.gateway
  const key = TEST_KEY
  const seen: string[] = []
  const mirror: IChangeFeedObserver<Order> = {
    processChanges: (_context, changes) => {
      seen.push(...changes.map(({ id }) => id))
    },
  }

  const connection = new CosmosConnection({ endpoint, key })
  const leases = new CosmosDocumentCollection(connection, { database: 'shop', container: 'leases' })
  const host = new ChangeFeedProcessorHost<Order>({
    group: 'mirror',
    feed: await openChangeFeed<Order>(connection, { database: 'shop', container: 'orders' }),
    leases: new DocumentLeaseStore(leases), // the container is created if it is missing
    feedOptions: { startFromBeginning: true },
  })
  await host.registerObserver(mirror)
  await expect.poll(() => seen).toEqual(['o1'])
  await host.unregisterObservers()

  const leaseIdPrefix = await readCosmosLeasePrefix(connection, {
    database: 'shop', // names of the monitored container in its account
    container: 'orders',
    processorName: 'mirror', // as in the scaler's metadata
    endpoint: 'http://tidemark.shop.svc:8081', // as in the scaler's metadata or connection string
  })
  const store = new DocumentLeaseStore(leases, { leaseIdPrefix })
  expect(await store.listGroups()).toEqual(['mirror'])
})

test('every snippet of http.md is in this file', async () => {
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
  const text = await readFile(new URL('../../docs/guide/http.md', import.meta.url), 'utf8')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, snippet = '']) => snippet)
  expect(snippets).toHaveLength(2)
  for (const snippet of snippets) expect(here).toContain(squeezed(snippet))
})

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
