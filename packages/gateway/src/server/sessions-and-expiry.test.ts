import { CosmosClient } from '@azure/cosmos'
import { ShiftedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const KEY = { 'x-ms-documentdb-partitionkey': '["x"]' }

test('CF-15 a session reads what it wrote, also after a split', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const client = new CosmosClient({
    endpoint: started.gateway.endpoint,
    key: TEST_KEY,
    consistencyLevel: 'Session',
  })
  const container = client.database('db').container('c')
  const { headers } = await container.items.create({ id: 'a', pk: 'x' })
  expect(headers['x-ms-session-token']).toBe('0:-1#1')
  await started.store.database('db').collection('c').split('0', { at: '05C1E0' })
  expect((await container.item('a', 'x').read()).statusCode).toBe(200)
  client.dispose()
})

test('CF-15 a state that the store does not have is waited for', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const collection = started.store.database('db').collection('c')
  await collection.create({ id: 'a', pk: 'x' } as never)
  const { endpoint } = started.gateway
  const headers = { ...KEY, 'x-ms-session-token': '0:-1#2' }
  const reading = send(endpoint, 'GET', `${DOCS}/a`, { headers })
  await collection.replace({ id: 'a', pk: 'x', late: true } as never)
  expect(await reading).toMatchObject({ status: 200, json: { late: true } })
})

test('CF-15 a state that never comes is 404 with substatus 1002', async () => {
  await using started = await testGateway({ maxWaitMs: 20 })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x' })
  const headers = { ...KEY, 'x-ms-session-token': '0:-1#99' }
  const answer = await send(started.gateway.endpoint, 'GET', `${DOCS}/a`, { headers })
  expect([answer.status, answer.headers.get('x-ms-substatus')]).toEqual([404, '1002'])
  expect(started.failures).toEqual([])
})

test.each(['Incremental feed', 'Full-Fidelity Feed'])(
  'CF-15 a feed read (%s) of a state that never comes is 404 with substatus 1002, and of one that is there an answer',
  async (mode) => {
    await using started = await testGateway({ maxWaitMs: 20 })
    const changeFeedPolicy = { retentionDuration: 5 }
    const definition = { id: 'c', partitionKey: '/pk', changeFeedPolicy }
    const container = await started.container(definition)
    const read = (token: string) => {
      const headers = { 'a-im': mode, 'if-none-match': '"0"', 'x-ms-session-token': token }
      return send(started.gateway.endpoint, 'GET', DOCS, { headers })
    }
    await container.items.create({ id: 'a', pk: 'x' })
    expect((await read('0:-1#1')).status).toBe(200)
    const ahead = await read('0:-1#99')
    expect([ahead.status, ahead.headers.get('x-ms-substatus')]).toEqual([404, '1002'])
    expect(started.failures).toEqual([])
  },
)

test('TTL-4 an expired document is absent to everything at that instant', async () => {
  const storeClock = new ShiftedClock()
  await using started = await testGateway({}, { storeClock })
  const container = await started.container({ id: 'c', partitionKey: '/pk', defaultTtl: 60 })
  await container.items.create({ id: 'a', pk: 'x' })
  await container.items.create({ id: 'b', pk: 'x', ttl: -1 })
  storeClock.step(61_000)
  expect((await container.item('a', 'x').read()).statusCode).toBe(404)
  expect((await container.items.readAll().fetchAll()).resources).toMatchObject([{ id: 'b' }])
  const feed = await send(started.gateway.endpoint, 'GET', DOCS, {
    headers: { 'a-im': 'Incremental feed' },
  })
  expect(feed).toMatchObject({ status: 200, json: { _count: 1, Documents: [{ id: 'b' }] } })
  const again = await container.items.create({ id: 'a', pk: 'x' })
  expect(again.statusCode).toBe(201)
})

test('CF-11 an expiry is a delete of the full-fidelity feed, once the sweep has been there', async () => {
  const storeClock = new ShiftedClock()
  await using started = await testGateway({}, { storeClock })
  const container = await started.container({
    id: 'c',
    partitionKey: '/pk',
    defaultTtl: 60,
    changeFeedPolicy: { retentionDuration: 10 } as never,
  })
  await container.items.create({ id: 'a', pk: 'x' })
  storeClock.step(61_000)
  await started.store.runMaintenance()
  const { json } = await send(started.gateway.endpoint, 'GET', DOCS, {
    headers: { 'a-im': 'Full-Fidelity Feed', 'if-none-match': '"1"' },
  })
  expect(json).toMatchObject({
    Documents: [
      {
        current: {},
        previous: { id: 'a' },
        metadata: { operationType: 'delete', timeToLiveExpired: true, id: 'a' },
      },
    ],
  })
})

test('ST-8 the list of all documents goes page by page, by range and by partition key', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', throughput: 20_000 })
  for (let n = 0; n < 20; n++) await container.items.create({ id: `d${n}`, pk: `p${n % 5}` })
  const { endpoint } = started.gateway
  const read = async (headers: Record<string, string>): Promise<readonly string[]> => {
    const ids: string[] = []
    let continuation: string | null = null
    do {
      const page: Record<string, string> = continuation ? { 'x-ms-continuation': continuation } : {}
      const answer = await send(endpoint, 'GET', DOCS, {
        headers: { 'x-ms-max-item-count': '3', ...headers, ...page },
      })
      expect(answer.status).toBe(200)
      const { Documents } = answer.json as { Documents: readonly { id: string }[] }
      ids.push(...Documents.map(({ id }) => id))
      continuation = answer.headers.get('x-ms-continuation')
    } while (continuation !== null)
    return ids
  }
  expect(new Set(await read({})).size).toBe(20)
  const [low, high] = [
    await read({ 'x-ms-documentdb-partitionkeyrangeid': '0' }),
    await read({ 'x-ms-documentdb-partitionkeyrangeid': '1' }),
  ]
  expect(low.length + high.length).toBe(20)
  expect(await read({ 'x-ms-documentdb-partitionkey': '["p2"]' })).toHaveLength(4)
  const gone = await send(endpoint, 'GET', DOCS, {
    headers: { 'x-ms-documentdb-partitionkeyrangeid': '7' },
  })
  expect([gone.status, gone.headers.get('x-ms-substatus')]).toEqual([410, '1002'])
})
