import { systemClock } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import { openMemoryEngine } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'
import { startGateway } from './start-gateway.ts'

const DOCS = '/dbs/db/colls/c/docs'
/** By version 2: in the lower half of all keys, and in the upper one. */
const [LOW, HIGH] = ['A', 'a']

test('CF-15 a session survives a split by another process that its gateway has not heard of', async () => {
  const engine = openMemoryEngine()
  await using store = await Store.open({ engine })
  // What this one does is no event of the other: as a store of another process.
  const elsewhere = await Store.open({ engine })
  let ms = 0
  const clock = { ...systemClock, monotonicMs: () => ms }
  await using gateway = await startGateway({
    store,
    keys: { readWrite: [TEST_KEY] },
    port: 0,
    clock,
  })
  await store.createDatabase('db')
  await store.database('db').createCollection({ id: 'c', partitionKey: '/pk' })
  const headers = (pk: string, token?: string) => ({
    'x-ms-documentdb-partitionkey': JSON.stringify([pk]),
    ...(token !== undefined && { 'x-ms-session-token': token }),
  })
  const write = async (id: string, pk: string) => {
    const answer = await send(gateway.endpoint, 'POST', DOCS, {
      headers: headers(pk),
      body: { id, pk },
    })
    return answer.headers.get('x-ms-session-token') ?? ''
  }
  const read = async (id: string, pk: string, token: string) => {
    const answer = await send(gateway.endpoint, 'GET', `${DOCS}/${id}`, {
      headers: headers(pk, token),
    })
    return [answer.status, answer.headers.get('x-ms-substatus')]
  }
  await write('low', LOW)
  const [range] = await elsewhere.database('db').collection('c').readFeedRanges()
  await elsewhere
    .database('db')
    .collection('c')
    .split(range?.id ?? '', { at: '20' })
  for (let n = 0; n < 5; n++) await write(`high${n}`, HIGH)
  const token = await write('high', HIGH)
  // The gateway believes in the parent still: that is what this is about.
  expect(token).toBe('0:-1#7')
  expect(await read('high', HIGH, token)).toEqual([200, null])
  const ahead = read('high', HIGH, '0:-1#8')
  await elsewhere
    .database('db')
    .collection('c')
    .upsert({ id: 'high', pk: HIGH } as never)
  expect(await ahead).toEqual([200, null])
  // Its list of ranges is too old from now on.
  ms += 60_000
  expect(await read('high', HIGH, token)).toEqual([200, null])
  expect(await read('low', LOW, token)).toEqual([200, null])
})

test('CF-15 what no child of a split has come to is still ahead of each of them', async () => {
  await using started = await testGateway({ maxWaitMs: 20 })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'low', pk: LOW })
  await started.store.database('db').collection('c').split('0', { at: '05C1E0' })
  const tokens = ['0:-1#9', '1:-1#9,2:-1#9', '0:-1#1,1:-1#9,2:-1#9']
  const answers = await Promise.all(
    tokens.map((token) => {
      const headers = { 'x-ms-documentdb-partitionkey': `["${LOW}"]`, 'x-ms-session-token': token }
      return send(started.gateway.endpoint, 'GET', `${DOCS}/low`, { headers })
    }),
  )
  for (const { status, headers } of answers) {
    expect([status, headers.get('x-ms-substatus')]).toEqual([404, '1002'])
  }
})
