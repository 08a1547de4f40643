import { cosmosDocuments, cosmosFeed, cosmosLeases, readCosmosLeasePrefix } from '@tidemark/cosmos'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { expect, test } from 'vitest'
import { accountUnderTest } from './account-under-test.fixture.ts'
import type { AskedRequest, Fault } from './plain-account.fixture.ts'

test('a lease container is made, with the partition key that leases need', async () => {
  await using under = await accountUnderTest()
  await cosmosLeases(under.container('leases')).openGroup('g')
  const made = under.store.database('db').collection('leases')
  await made.readRecord()
  expect(made.partitionKeyPaths).toEqual(['/partitionKey'])
  const { resource } = await under.container('leases').read()
  expect(resource?.partitionKey).toMatchObject({ kind: 'Hash', version: 2 })
})

test('a lease container that may not be made is named, with what it needs', async () => {
  await using under = await accountUnderTest()
  const refused = cosmosLeases(under.container('leases'), { createIfMissing: false })
  await expect(refused.openGroup('g')).rejects.toMatchObject({
    code: 'ERR_LEASE_STORAGE',
    message: expect.stringContaining(
      'make container "leases" with the partition key path /partitionKey',
    ),
  })
  // As with Entra ID, whose rights on data do not include making containers.
  const { account } = under
  account.fault = ({ method }) => (method === 'POST' ? { status: 403 } : undefined)
  await expect(cosmosLeases(under.container('leases')).openGroup('g')).rejects.toMatchObject({
    code: 'ERR_LEASE_STORAGE',
    message: expect.stringContaining('these credentials may not make one'),
  })
  expect(account.faults).toBe(1)
  expect(await under.store.listDatabases()).toEqual([])
})

const isBatch = ({ header }: AskedRequest): boolean =>
  header('x-ms-cosmos-is-batch-request') !== undefined

test.each<[string, Fault]>([
  ['a single operation is throttled', { batch: [{ statusCode: 429, subStatusCode: 3200 }] }],
  ['a single operation is in conflict with another one', { batch: [{ statusCode: 449 }] }],
  ['the account is still making the container', { status: 404, substatus: 1013 }],
])('%s: leases can be had in a moment', async (_name, fault) => {
  await using under = await accountUnderTest()
  const { account } = under
  const leases = cosmosLeases(under.container('leases'))
  const group = await leases.openGroup('g')
  account.failNext(1, isBatch, fault)
  const passing = { code: 'ERR_LEASE_STORE_UNAVAILABLE', retryable: true }
  await expect(group.setPaused(true)).rejects.toMatchObject(passing)
  expect(account.faults).toBe(1)
  expect(await group.setPaused(true)).toBe(true)
})

test('a document is not taken for missing while its container is being made', async () => {
  await using under = await accountUnderTest()
  const { account } = under
  const documents = cosmosDocuments(under.container('leases'))
  await documents.createIfNotExists?.({ partitionKey: '/partitionKey' })
  await documents.readFeedRanges()
  account.failNext(1, ({ path }) => path.endsWith('/docs/a'), { status: 404, substatus: 1013 })
  await expect(documents.read('a', 'g')).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    retryable: true,
  })
  expect(account.faults).toBe(1)
  expect(await documents.read('a', 'g')).toMatchObject({ document: undefined })
})

test('a container of .NET or Java, partitioned by /id, is refused with what to do, and nothing is written', async () => {
  await using under = await accountUnderTest()
  const leases = await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'leases', partitionKey: '/id' })
  await expect(cosmosLeases(under.container('leases')).openGroup('g')).rejects.toMatchObject({
    code: 'ERR_LEASE_STORAGE',
    retryable: false,
    message: expect.stringMatching(/make another one.*tidemark leases import --from-v3/),
  })
  const { documents } = await leases.readPartition('g')
  expect(documents).toEqual([])
})

test('leases have V3’s form beside their own, under the prefix that its readers look for', async () => {
  await using under = await accountUnderTest()
  const orders = await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 2 })
  const monitored = under.container('orders')
  const prefix = await readCosmosLeasePrefix(monitored, {
    processorName: 'mirror',
    endpoint: 'https://shop.documents.azure.com:443/',
  })
  const { rid } = await orders.readRecord()
  expect(prefix).toMatch(/^mirrorshop\.documents\.azure\.com_/)
  expect(prefix.endsWith(`_${rid}..`)).toBe(true)
  const host = new ChangeFeedProcessorHost({
    hostName: 'w1',
    group: 'mirror',
    feed: cosmosFeed(monitored),
    leases: cosmosLeases(under.container('leases'), { leaseIdPrefix: prefix }),
  })
  await host.registerObserver({ processChanges: () => {} })
  const leases = under.store.database('db').collection('leases')
  await expect
    .poll(async () => {
      const { documents } = await leases.readPartition('mirror')
      return documents
        .filter(({ id }) => id.startsWith(prefix))
        .map((lease) => {
          const { Owner, LeaseToken, version } = lease as unknown as Record<string, unknown>
          return { Owner, LeaseToken, version }
        })
    })
    .toEqual([
      { Owner: 'w1', LeaseToken: '0', version: 0 },
      { Owner: 'w1', LeaseToken: '1', version: 0 },
    ])
  await host.unregisterObservers()
  for (const endpoint of ['shop.documents.azure.com', '']) {
    await expect(
      readCosmosLeasePrefix(monitored, { processorName: 'mirror', endpoint }),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  }
  for (const processorName of ['n'.repeat(100), 'a/b', 'a b']) {
    await expect(
      readCosmosLeasePrefix(monitored, { processorName, endpoint: 'https://a.b/' }),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  }
})

test('LE-17 a group of one container is none of another, nor of one that was made again under its name', async () => {
  await using under = await accountUnderTest()
  const db = under.store.database('db')
  const make = (id: string) => db.createCollectionIfNotExists({ id, partitionKey: '/id' })
  await make('orders')
  await make('customers')
  const run = (id: string): Promise<unknown> =>
    new ChangeFeedProcessorHost({
      group: 'mirror',
      feed: cosmosFeed(under.container(id)),
      leases: cosmosLeases(under.container('leases')),
      feedOptions: { startFromBeginning: true },
    }).runUntilCaughtUp(() => undefined)
  await run('orders')
  const refused = (message: RegExp) => ({
    code: 'ERR_GROUP_OF_OTHER_FEED',
    message: expect.stringMatching(message),
  })
  await expect(run('customers')).rejects.toMatchObject(
    refused(/follows db\/orders \(.*\), not db\/customers \(/),
  )
  await db.deleteCollection('orders')
  await make('orders')
  await expect(run('orders')).rejects.toMatchObject(
    refused(/follows an earlier db\/orders \(.*\), which was dropped/),
  )
})

test('a group whose lease documents were deleted does not begin from now, however often it is started', async () => {
  await using under = await accountUnderTest()
  const orders = await under.store
    .database('db')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  const run = (discardExistingLeases?: string) =>
    new ChangeFeedProcessorHost({
      group: 'mirror',
      feed: cosmosFeed(under.container('orders')),
      leases: cosmosLeases(under.container('leases')),
      feedOptions: { startFromBeginning: discardExistingLeases !== undefined },
      hostOptions: { discardExistingLeases },
    }).runUntilCaughtUp(() => undefined)
  await run()
  const leases = under.store.database('db').collection('leases')
  const { documents } = await leases.readPartition('mirror')
  for (const { id } of documents) if (id.startsWith('lease-')) await leases.delete(id, 'mirror')
  for (let n = 0; n < 30; n += 1) await orders.create({ id: `o${n}` })
  for (const _ of [1, 2]) {
    await expect(run()).rejects.toMatchObject({ code: 'ERR_LEASES_VANISHED' })
  }
  expect(await run('anew')).toMatchObject({ changes: 30 })
})
