import { expect, test } from 'vitest'
import { send, signedHeaders } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'
import { startGateway } from './start-gateway.ts'

const READ_ONLY_KEY = Buffer.from('a key that may only read, really').toString('base64')

test('a signature of another verb, link, date or key is 401', async () => {
  await using started = await testGateway()
  const { endpoint } = started.gateway
  expect((await send(endpoint, 'GET', '/dbs')).status).toBe(200)
  const others = [
    {},
    signedHeaders('POST', '/dbs'),
    signedHeaders('GET', '/dbs/a'),
    { ...signedHeaders('GET', '/dbs'), 'x-ms-date': new Date(Date.now() + 1000).toUTCString() },
    signedHeaders('GET', '/dbs', { key: READ_ONLY_KEY }),
    { ...signedHeaders('GET', '/dbs'), authorization: 'type%3Daad%26ver%3D1.0%26sig%3Dabc' },
    { ...signedHeaders('GET', '/dbs'), authorization: '%' },
  ]
  for (const headers of others) {
    const response = await fetch(`${endpoint}dbs`, { headers })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'Unauthorized' })
  }
})

test('a date 16 minutes off is 403, 14 minutes are taken', async () => {
  await using started = await testGateway()
  const { endpoint } = started.gateway
  for (const minutes of [-16, 16]) {
    const at = new Date(Date.now() + minutes * 60_000)
    expect((await send(endpoint, 'GET', '/dbs', { at })).status).toBe(403)
  }
  const at = new Date(Date.now() - 14 * 60_000)
  expect((await send(endpoint, 'GET', '/dbs', { at })).status).toBe(200)
})

test('a key that may only read reads and queries, and writes nothing', async () => {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
  await using started = await testGateway({ keys })
  const { endpoint } = started.gateway
  const key = READ_ONLY_KEY
  await started.container({ id: 'c', partitionKey: '/pk' })
  const docs = '/dbs/db/colls/c/docs'
  expect((await send(endpoint, 'GET', '/dbs/db', { key })).status).toBe(200)
  const headers = {
    'x-ms-documentdb-isquery': 'true',
    'content-type': 'application/query+json',
  }
  const query = { query: 'SELECT * FROM c' }
  expect((await send(endpoint, 'POST', docs, { key, headers, body: query })).status).toBe(200)
  const body = { id: 'a', pk: 'x' }
  expect((await send(endpoint, 'POST', docs, { key, body })).status).toBe(403)
  expect((await send(endpoint, 'DELETE', '/dbs/db', { key })).status).toBe(403)
  expect(await started.store.database('db').collection('c').count()).toBe(0)
})

test('a batch that calls itself a query, too, is no way around a key that may only read', async () => {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
  await using started = await testGateway({ keys })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const headers = {
    'x-ms-documentdb-isquery': 'true',
    'x-ms-cosmos-is-batch-request': 'true',
    'x-ms-cosmos-batch-atomic': 'true',
    'x-ms-documentdb-partitionkey': '["x"]',
  }
  const body = [{ operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } }]
  const target = '/dbs/db/colls/c/docs'
  const { status } = await send(started.gateway.endpoint, 'POST', target, {
    key: READ_ONLY_KEY,
    headers,
    body,
  })
  expect(status).toBe(403)
  expect(await started.store.database('db').collection('c').count()).toBe(0)
})

test.each([
  { 'x-ms-documentdb-isquery': 'true' },
  { 'x-ms-cosmos-is-query-plan-request': 'True' },
  { 'content-type': 'application/query+json' },
  { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-is-query-plan-request': 'true' },
])('a POST with headers %j makes nothing with a key that may only read', async (headers) => {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
  await using started = await testGateway({ keys })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = started.gateway
  const options = { key: READ_ONLY_KEY, headers }
  const container = { id: 'made', partitionKey: { paths: ['/pk'] } }
  await send(endpoint, 'POST', '/dbs', { ...options, body: { id: 'made' } })
  await send(endpoint, 'POST', '/dbs/db/colls', { ...options, body: container })
  await send(endpoint, 'POST', '/dbs/db/colls/c/docs', { ...options, body: { id: 'made' } })
  expect((await started.store.listDatabases()).map(({ id }) => id)).toEqual(['db'])
  const database = started.store.database('db')
  expect((await database.listCollections()).map(({ id }) => id)).toEqual(['c'])
  expect(await database.collection('c').count()).toBe(0)
})

test('nor is a delete of a partition key that calls itself a query', async () => {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
  await using started = await testGateway({ keys })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x' })
  const target = '/dbs/db/colls/c/operations/partitionkeydelete'
  const { status } = await send(started.gateway.endpoint, 'POST', target, {
    key: READ_ONLY_KEY,
    headers: { 'x-ms-documentdb-isquery': 'true', 'x-ms-documentdb-partitionkey': '["x"]' },
  })
  expect(status).toBe(403)
  expect(await started.store.database('db').collection('c').count()).toBe(1)
})

test.each([[[]], [['short']], [['not base64 at all, but long enough!']]])(
  'keys %j are refused, and do not show in the message',
  async (readWrite) => {
    await using started = await testGateway()
    const refused = startGateway({ store: started.store, keys: { readWrite }, port: 0 })
    const error: unknown = await refused.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION' })
    for (const key of readWrite) expect(String(error)).not.toContain(key)
  },
)
