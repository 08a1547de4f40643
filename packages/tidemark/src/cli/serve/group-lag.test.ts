import { systemClock } from '@tidemark/contracts'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { accessRule } from '../../dashboard/access.ts'
import { groupLag, type GroupLagOptions } from './group-lag.ts'

let store: Store
beforeEach(async () => {
  store = await openMemoryStore()
  await prepare('shop')
})
afterEach(() => store.close())

/** Orders, and leases beside them. */
async function prepare(id: string): Promise<void> {
  const database = store.database(id)
  await database.createCollectionIfNotExists({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: 2,
  })
  await database.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
}

async function write(count: number, database = 'shop'): Promise<void> {
  const orders = store.database(database).collection('orders')
  for (let n = 0; n < count; n += 1) await orders.upsert({ id: `o${n}` })
}

/** A job of a group that does all there is. */
async function runGroup(group = 'mirror', database = 'shop'): Promise<void> {
  const shop = store.database(database)
  const host = new ChangeFeedProcessorHost({
    hostName: 'job',
    group,
    feed: shop.collection('orders'),
    leases: new DocumentLeaseStore(shop.collection('leases')),
    feedOptions: { startFromBeginning: true },
  })
  await host.runUntilCaughtUp({ processChanges: () => {} })
}

function asked(options: Partial<GroupLagOptions> = {}) {
  const access = accessRule({ host: '127.0.0.1' })
  const lag = groupLag({ store, access, clock: systemClock, ...options })
  return async (path: string, init: RequestInit = {}) => {
    const response = await lag(new Request(`http://localhost/${path}`, init))
    return response && { status: response.status, json: (await response.json()) as unknown }
  }
}

test('PH-9 one number for a scaler, and each range', async () => {
  await write(20)
  await runGroup()
  const ask = asked({ clock: new SimulatedClock() })
  const none = await ask('api/groups/mirror/lag')
  expect(none).toMatchObject({
    status: 200,
    json: { group: 'mirror', totalLag: 0, isExact: true, oldestMs: 0, paused: false, hosts: 0 },
  })
  await write(30)
  const fresh = asked()
  expect(await fresh('api/groups/mirror/lag')).toMatchObject({
    status: 200,
    json: {
      totalLag: 30,
      isExact: true,
      oldestMs: expect.any(Number),
      ranges: [
        { range: expect.stringMatching(/^-/), state: 'unowned', owner: null, problem: null },
        { range: expect.stringMatching(/-FF$/), isExact: true },
      ],
    },
  })
  expect(await fresh('api/groups/mirror/lag?limit=5')).toMatchObject({
    json: { totalLag: 10, isExact: false },
  })
})

test('many who ask at once, and soon after, share one estimate; other questions are others', async () => {
  await runGroup()
  await write(3)
  const clock = new SimulatedClock()
  const ask = asked({ clock })
  const estimates = vi.spyOn(store, 'listCollections')
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask('api/groups/mirror/lag')))
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  const once = estimates.mock.calls.length
  await ask('api/groups/mirror/lag')
  await ask('api/groups/mirror/lag?limit=1000')
  expect(estimates.mock.calls.length).toBe(once)
  await ask('api/groups/mirror/lag?limit=7')
  expect(estimates.mock.calls.length).toBe(2 * once)
  await clock.advance(1_000)
  await write(5)
  expect(await ask('api/groups/mirror/lag')).toMatchObject({ json: { totalLag: 5 } })
  expect(estimates.mock.calls.length).toBe(3 * once)
})

test('a group that does not exist is 404 with a code, and is not made by asking', async () => {
  await runGroup()
  const ask = asked()
  for (const path of ['nobody', 'MIRROR', '%00', 'mirror%2Flag', 'mirror?collection=shop/other']) {
    const [name, query = ''] = path.split('?')
    expect([path, await ask(`api/groups/${name}/lag?${query}`)]).toMatchObject([
      path,
      { status: 404, json: { code: 'ERR_NOT_FOUND' } },
    ])
  }
  for (const place of ['shop/nothing', 'nothing/leases']) {
    expect(await ask(`api/groups/mirror/lag?leases=${place}`)).toMatchObject({
      status: 400,
      json: { code: 'ERR_LEASE_STORAGE' },
    })
  }
  expect(await ask('api/groups/mirror/lag?leases=shop/orders')).toMatchObject({ status: 404 })
  const leases = new DocumentLeaseStore(store.database('shop').collection('leases'))
  expect(await leases.listGroups()).toEqual(['mirror'])
})

test('of groups with one name in two places, leases or the collection choose one', async () => {
  await prepare('store')
  await runGroup()
  await runGroup('mirror', 'store')
  await write(2)
  await write(9, 'store')
  const ask = asked()
  expect(await ask('api/groups/mirror/lag')).toMatchObject({
    status: 400,
    json: {
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('shop/leases and store/leases'),
    },
  })
  for (const [query, totalLag] of [
    ['collection=shop/orders', 2],
    ['collection=store%2Forders', 9],
    ['leases=store/leases', 9],
    ['leases=shop/leases&collection=shop/orders', 2],
  ] as const) {
    expect(await ask(`api/groups/mirror/lag?${query}`)).toMatchObject({ json: { totalLag } })
  }
})

test('a query that cannot be meant is 400', async () => {
  await runGroup()
  const ask = asked()
  for (const query of [
    'limit=0',
    'limit=100001',
    'limit=1e3',
    'limit=',
    'limit=1&limit=2',
    'pendingDeletes=no',
    'leases=redis://secret:6379',
    'leases=leases',
    'collection=a/b/c',
    'lmit=1',
  ]) {
    const answer = await ask(`api/groups/mirror/lag?${query}`)
    expect([query, answer]).toMatchObject([
      query,
      { status: 400, json: { code: 'ERR_INVALID_OPTION' } },
    ])
    expect(JSON.stringify(answer)).not.toContain('secret')
  }
  expect(await ask('api/groups/%E0%A4%A/lag')).toMatchObject({ status: 400 })
})

test('methods other than GET and HEAD are 405; other paths are for somebody else', async () => {
  const ask = asked()
  for (const method of ['POST', 'PUT', 'DELETE']) {
    expect(await ask('api/groups/mirror/lag', { method })).toMatchObject({
      status: 405,
      json: { code: 'ERR_METHOD_NOT_ALLOWED' },
    })
  }
  for (const path of [
    '',
    'api/groups',
    'api/groups/a',
    'api/groups/a/lag/',
    'api/groups/a/b/lag',
  ]) {
    expect(await ask(path)).toBeUndefined()
  }
})

test('who may not ask learns nothing, not even whether there is such a group', async () => {
  await runGroup()
  const access = accessRule({ host: '0.0.0.0', credentials: { bearer: ['token'] } })
  const ask = asked({ access })
  const refused = { status: 401, json: { code: 'ERR_UNAUTHORIZED' } }
  for (const path of ['api/groups/mirror/lag', 'api/groups/no/lag', 'api/groups/no/lag?limit=x']) {
    expect(await ask(path)).toMatchObject(refused)
    expect(await ask(path, { method: 'POST' })).toMatchObject(refused)
  }
  const headers = { authorization: 'Bearer token' }
  expect(await ask('api/groups/mirror/lag', { headers })).toMatchObject({ status: 200 })
})

test('a lease store that is away is 503, and what nobody foresaw is thrown', async () => {
  await runGroup()
  const away = Object.assign(new Error('redis://u:secret@h is away'), { code: 'ERR_X' })
  const failing = vi.spyOn(store, 'listCollections').mockRejectedValueOnce(away)
  await expect(asked()('api/groups/mirror/lag')).rejects.toBe(away)
  failing.mockRestore()
  expect(await asked({ leases: 'redis://127.0.0.1:1' })('api/groups/mirror/lag')).toMatchObject({
    status: 503,
    json: { code: 'ERR_LEASE_STORE_UNAVAILABLE' },
  })
})
