import { expect, test } from 'vitest'
import { LEASES, MIRROR, ORDERS, startHost, write } from './mirrored-orders.fixture.ts'
import { OpenedPage } from './opened-page.fixture.ts'
import type { GroupView } from './views.ts'

test('the overview has databases, collections, groups with their lag, hosts and queues', async () => {
  await using page = await OpenedPage.open({ environment: 'test' })
  const { store } = page
  await write(store, 20)
  const host = await startHost(store)
  const group = async () => (await page.view('overview', {})).tables.groups[0]
  await expect.poll(async () => (await group())?.changes).toBe(0)
  await host.unregisterObservers()
  await write(store, 5, 20)
  const { head, tables } = await page.view('overview', {})
  expect(head).toMatchObject({
    environment: 'test',
    readOnly: false,
    masked: false,
    databases: 1,
    collections: 2,
    groups: 1,
    hosts: 0,
    problems: [],
    truncated: false,
  })
  expect(head.version).toMatch(/^\d+\.\d+\.\d+/)
  expect(tables.collections).toMatchObject([
    { id: LEASES, purpose: 'leases', partitionKey: ['/partitionKey'] },
    { id: 'shop/orders', purpose: null, partitionKey: ['/id'], defaultTtl: null },
  ])
  expect(tables.groups).toMatchObject([
    { ...MIRROR, id: 'shop/leases/mirror', collection: 'shop/orders', ranges: 4, changes: 5 },
  ])
  expect(tables.groups).toMatchObject([
    { paused: false, isExact: true, severity: 1, notes: ['4 ranges without an owner'] },
  ])
})

test('a group shows its leases with owner and lag, its hosts, and samples of the lag', async () => {
  await using page = await OpenedPage.open()
  const { store } = page
  await write(store, 20)
  const host = await startHost(store)
  const view = (): Promise<GroupView> => page.view('group', MIRROR)
  await expect.poll(async () => (await view()).head.changes).toBe(0)
  await expect.poll(async () => (await view()).head.severity).toBe(0)
  const { head, tables } = await view()
  expect(head).toMatchObject({ ...MIRROR, collection: 'shop/orders', notes: [], sampleMs: 100 })
  expect(tables.leases).toHaveLength(4)
  for (const lease of tables.leases) {
    expect(lease).toMatchObject({ state: 'owned', owner: 'worker-1', target: 'worker-1' })
    expect(lease).toMatchObject({
      tries: 0,
      problem: null,
      changes: 0,
      isExact: true,
      halted: false,
    })
    expect(lease.lsn).toBe(lease.newestLsn)
    expect(lease.epoch).toBeGreaterThan(0)
    expect(lease.changedMs).toBeNull()
  }
  expect(tables.leases.map(({ from }) => from)).toEqual(
    tables.leases.map(({ from }) => from).sort(),
  )
  expect(tables.hosts).toMatchObject([{ id: 'worker-1', state: 'live', ranges: 4, weight: 1 }])
  expect(tables.samples.at(-1)).toMatchObject({ changes: 0, ageMs: 0, leases: [] })
  await host.unregisterObservers()
})

test('a collection shows its ranges as a tree of splits and merges, expiry and its groups', async () => {
  await using page = await OpenedPage.open()
  const { store } = page
  await write(store, 40)
  const host = await startHost(store)
  const orders = store.database('shop').collection('orders')
  const [left, right] = await orders.split('1')
  await orders.split('3')
  const merged = await orders.merge(left.id, right.id)
  await orders.updateSettings({ defaultTtl: 30, pendingDeletes: { waitFor: ['mirror'] } })
  await store.runMaintenance()
  const { head, tables } = await page.view('collection', ORDERS)
  expect(head).toMatchObject({ ...ORDERS, partitionKey: ['/id'], documents: 40, defaultTtl: 30 })
  expect(head.bytes).toBeGreaterThan(400)
  expect(head.expiring[0]).toEqual({ withinSeconds: 60, documents: 40 })
  const parents = Object.fromEntries(tables.ranges.map(({ id, parents: own }) => [id, own]))
  expect(parents).toMatchObject({
    0: [],
    1: [],
    2: [],
    3: [],
    [left.id]: ['1'],
    [right.id]: ['1'],
    [merged.id]: [left.id, right.id],
    6: ['3'],
    7: ['3'],
  })
  const live = tables.ranges.filter(({ state }) => state === 'live')
  expect(live.map(({ id }) => id)).toEqual(['0', merged.id, '2', '6', '7'])
  expect(live.reduce((sum, { documents }) => sum + (documents ?? 0), 0)).toBe(40)
  expect(tables.groups).toMatchObject([{ group: 'mirror', collection: 'shop/orders' }])
  expect(tables.waiting.map(({ id }) => id)).toEqual(['mirror'])
  await host.unregisterObservers()
})

test('what is missing is 404, what is malformed 400, and other paths and methods are refused', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  const notFound = [404, 'ERR_NOT_FOUND'] as const
  const bad = [400, 'ERR_BAD_REQUEST'] as const
  expect(await page.refused('api/views/group', { ...MIRROR, leases: 'no/where' })).toEqual(notFound)
  expect(await page.refused('api/views/group', { leases: 'shop/leases' })).toEqual(bad)
  expect(await page.refused('api/views/collection', { ...ORDERS, collection: 'no' })).toEqual(
    notFound,
  )
  expect(await page.refused('api/streams/collection', { ...ORDERS, database: 'no' })).toEqual(
    notFound,
  )
  expect(await page.refused('api/views/queue', { database: 'shop', entity: 'no' })).toEqual(
    notFound,
  )
  expect(await page.refused('api/views/queue', { database: 'shop', entity: 'a//b' })).toEqual(bad)
  expect(await page.refused('api/letter', { ...ORDERS, id: 'no' })).toEqual(notFound)
  for (const path of [
    'api',
    'api/',
    'api/views',
    'api/views/no',
    'api/no/overview',
    'api/views/overview/x',
    'api/toString',
    'x',
  ]) {
    expect(await page.refused(path)).toEqual(notFound)
  }
  expect(await page.refused('api/views/collection?database=a&database=b')).toEqual(bad)
  expect(
    await page.refused('api/views/collection', { ...ORDERS, collection: 'x'.repeat(9_000) }),
  ).toEqual(bad)
  const post = await page.fetch('api/views/overview', { method: 'POST' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect((await page.fetch('api/actions/pause')).status).toBe(405)
  // A group that is only looked for is not made.
  await page.store
    .database('shop')
    .createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
  expect(await page.refused('api/views/group', MIRROR)).toEqual(notFound)
  expect((await page.view('overview', {})).tables.groups).toEqual([])
})
