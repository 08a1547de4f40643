import { expect, test } from 'vitest'
import { testGateway } from './running-gateway.fixture.ts'

test('a definition is answered with its defaults, and without what nobody said', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', defaultTtl: 60 })
  const { resource } = await container.read()
  expect(resource).toMatchObject({
    id: 'c',
    partitionKey: { paths: ['/pk'], kind: 'Hash' },
    defaultTtl: 60,
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    },
    geospatialConfig: { type: 'Geography' },
  })
  expect(resource?.partitionKey).not.toHaveProperty('version')
})

test('TTL-8 a replace takes the whole definition: what is left out is off', async () => {
  await using started = await testGateway()
  const container = await started.container({
    id: 'c',
    partitionKey: { paths: ['/pk'], version: 2 } as never,
    defaultTtl: 60,
    uniqueKeyPolicy: { uniqueKeys: [] },
  })
  const { resource } = await container.replace({
    id: 'c',
    partitionKey: { paths: ['/pk'], version: 2 } as never,
    geospatialConfig: { type: 'Geometry' as never },
  })
  expect(resource).not.toHaveProperty('defaultTtl')
  expect(resource).toMatchObject({ geospatialConfig: { type: 'Geometry' } })
  const { definition } = await started.store.database('db').collection('c').readRecord()
  expect(definition).toMatchObject({ defaultTtl: null, partitionKey: { version: 2 } })
})

test.each([
  ['no leading slash', { id: 'c', partitionKey: { paths: ['pk'] } }],
  ['paths that are no list', { id: 'c', partitionKey: { paths: '/pk' } }],
  ['defaultTtl 0', { id: 'c', partitionKey: { paths: ['/pk'] }, defaultTtl: 0 }],
  ['defaultTtl -2', { id: 'c', partitionKey: { paths: ['/pk'] }, defaultTtl: -2 }],
  ['defaultTtl null', { id: 'c', partitionKey: { paths: ['/pk'] }, defaultTtl: null }],
  [
    'TTL-10 defaultTtl without indexing',
    {
      id: 'c',
      partitionKey: { paths: ['/pk'] },
      defaultTtl: 5,
      indexingPolicy: { indexingMode: 'none' },
    },
  ],
])('a definition with %s is 400', async (_name, definition) => {
  await using started = await testGateway()
  await expect(started.container(definition as never)).rejects.toMatchObject({ code: 400 })
  expect(await started.store.database('db').listCollections()).toEqual([])
})

test('id and partition key of a container cannot be changed', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const other = container.replace({ id: 'c', partitionKey: { paths: ['/other'] } as never })
  await expect(other).rejects.toMatchObject({ code: 400 })
})

test('a container made anew under the same name has another _rid, and is found at once', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x' })
  const before = await container.read()
  await started.store.database('db').deleteCollection('c')
  await expect(container.read()).rejects.toMatchObject({ code: 404 })
  await started.store.database('db').createCollection({ id: 'c', partitionKey: '/pk' })
  const after = await container.read()
  expect(after.resource?._rid).not.toBe(before.resource?._rid)
  expect(after.resource?.partitionKey).toMatchObject({ paths: ['/pk'], version: 2 })
  expect((await container.item('a', 'x').read()).statusCode).toBe(404)
})

test('ST-9 raising an offer splits at once, lowering it never merges', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', throughput: 400 })
  for (let n = 0; n < 40; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
  const { offer, resource } = await container.readOffer()
  expect(resource?.content).toMatchObject({ offerThroughput: 400 })
  const raised = { ...resource!, content: { ...resource!.content!, offerThroughput: 45_000 } }
  await offer!.replace(raised)
  const { resources } = await container.readPartitionKeyRanges().fetchAll()
  expect(resources).toHaveLength(5)
  expect(resources.every(({ parents }) => parents.includes('0'))).toBe(true)
  await offer!.replace({ ...raised, content: { ...raised.content, offerThroughput: 400 } })
  expect((await container.readPartitionKeyRanges().fetchAll()).resources).toHaveLength(5)
  expect((await container.items.readAll().fetchAll()).resources).toHaveLength(40)
})

test('ST-11 stored procedures are a clear 400', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const made = container.scripts.storedProcedures.create({ id: 's', body: 'function () {}' })
  await expect(made).rejects.toMatchObject({ code: 400 })
  expect((await container.scripts.triggers.readAll().fetchAll()).resources).toEqual([])
})

test('the throughput of a database is answered as it was given', async () => {
  await using started = await testGateway()
  const { database } = await started.client.databases.create({ id: 'shared', throughput: 1000 })
  const { offer, resource } = await database.readOffer()
  expect(resource?.content).toMatchObject({ offerThroughput: 1000 })
  const body = { ...resource!, content: { ...resource!.content!, offerThroughput: 2000 } }
  await offer!.replace(body)
  expect((await offer!.read()).resource?.content).toMatchObject({ offerThroughput: 2000 })
  await database.delete()
  expect((await started.client.offers.readAll().fetchAll()).resources).toEqual([])
})
