import { expect, test } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const KEY = { 'x-ms-documentdb-partitionkey': '["x"]' }

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
