import {
  CosmosDocumentCollection,
  openChangeFeed,
  readCosmosLeasePrefix,
} from '@tidemark/gateway/client'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { expect, test } from 'vitest'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'

const MONITORED = { database: 'db', container: 'orders' }

/** As the properties are called in V3's lease documents. */
interface CosmosLease {
  readonly id: string
  readonly LeaseToken: string
  readonly Owner: string | null
  readonly ContinuationToken: string
  readonly FeedRange: { readonly Range: { readonly min: string; readonly max: string } }
}

test('LE-1 PH-9 leases in a container are found by V3’s prefix, and their continuation is an etag of the feed', async () => {
  await using under = await gatewayUnderTest()
  const orders = await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 2 })
  for (let n = 0; n < 20; n++) await orders.create({ id: `o${n}` })
  const connection = under.connect()
  const prefix = await readCosmosLeasePrefix(connection, { ...MONITORED, processorName: 'mirror' })
  const [{ rid: databaseRid }, { rid }] = [
    await under.store.database('db').readRecord(),
    await orders.readRecord(),
  ]
  expect(prefix).toBe(`mirror127.0.0.1_${databaseRid}_${rid}..`)

  const leases = new CosmosDocumentCollection(connection, { database: 'db', container: 'leases' })
  const seen = new Set<string>()
  const host = new ChangeFeedProcessorHost({
    hostName: 'w1',
    group: 'mirror',
    feed: await openChangeFeed(connection, MONITORED),
    leases: new DocumentLeaseStore(leases, { leaseIdPrefix: prefix }),
    feedOptions: { startFromBeginning: true },
  })
  await host.registerObserver({
    processChanges: (_context, changes) => {
      for (const { id } of changes) seen.add(id)
    },
  })
  const read = async (): Promise<readonly CosmosLease[]> => {
    const { documents } = await leases.readPartition('mirror')
    const found = documents.filter(({ id }) => id.startsWith(prefix))
    return found as unknown as readonly CosmosLease[]
  }
  // What a reader of V3's leases does to see how much is left: ask with the continuation of each.
  const left = async (lease: CosmosLease, pkRangeId: string): Promise<number> => {
    const { status } = await connection.send({
      method: 'GET',
      path: ['dbs', 'db', 'colls', 'orders', 'docs'],
      headers: {
        'a-im': 'Incremental Feed',
        'if-none-match': lease.ContinuationToken,
        'x-ms-documentdb-partitionkeyrangeid': pkRangeId,
      },
      subject: { resource: 'collection', id: 'orders', effect: 'none' },
    })
    return status
  }
  await expect.poll(() => seen.size).toBe(20)
  const ranges = await orders.readFeedRanges()
  await expect
    .poll(async () => {
      const found = await read()
      return Promise.all(found.map((lease, index) => left(lease, String(ranges[index]?.id))))
    })
    .toEqual([304, 304])
  expect((await read()).map(({ Owner }) => Owner)).toEqual(['w1', 'w1'])
  expect((await read()).map(({ FeedRange }) => FeedRange.Range.min)).toEqual(
    ranges.map(({ minInclusive }) => minInclusive),
  )
  await host.unregisterObservers()
  expect((await read()).map(({ Owner }) => Owner)).toEqual([null, null])
})

test('a name of a processor that makes no prefix for ids is refused, and what fits is said', async () => {
  await using under = await gatewayUnderTest()
  await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  const connection = under.connect()
  const prefixFor = (processorName: string) =>
    readCosmosLeasePrefix(connection, { ...MONITORED, processorName })
  const room = 100 - (await prefixFor('')).length
  const collection = new CosmosDocumentCollection(connection, MONITORED)
  const leaseIdPrefix = await prefixFor('n'.repeat(room))
  expect(new DocumentLeaseStore(collection, { leaseIdPrefix })).toBeInstanceOf(DocumentLeaseStore)
  for (const name of ['n'.repeat(room + 1), 'a/b', 'a b']) {
    await expect(prefixFor(name)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining(`processorName must be at most ${room} characters`),
    })
  }
})

test('a prefix is made of the host name that the reader of the leases has', async () => {
  await using under = await gatewayUnderTest()
  await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  const connection = under.connect()
  const prefixFor = (endpoint: string) =>
    readCosmosLeasePrefix(connection, { ...MONITORED, processorName: 'mirror', endpoint })
  expect(await prefixFor('http://tidemark.shop.svc:8081/')).toMatch(/^mirrortidemark\.shop\.svc_/)
  // KEDA's built-in scaler looks for `mirrortidemark.`.
  expect(await prefixFor('http://tidemark:8081')).toMatch(/^mirrortidemark_/)
  for (const endpoint of ['tidemark.shop.svc', 'tidemark:8081', '']) {
    await expect(prefixFor(endpoint)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  }
})
