import { systemClock } from '@tidemark/contracts'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { METRICS, prometheusName } from '@tidemark/otel'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { accessRule } from '../../dashboard/access.ts'
import { metricsRoute, type MetricsOptions, type MetricsRoute } from './metrics.ts'
import { parsePrometheus, type PrometheusFamily } from './prometheus-text.fixture.ts'

let store: Store
let shop: Database
let orders: Collection
let broker: MessageBroker
let failures: string[]
let routes: MetricsRoute[]

beforeEach(async () => {
  store = await openMemoryStore({ maintenance: 'manual' })
  shop = await store.createDatabaseIfNotExists('shop')
  orders = await shop.createCollectionIfNotExists({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: 2,
    defaultTtl: -1,
  })
  await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
  broker = openMessaging(shop)
  failures = []
  routes = []
})
afterEach(async () => {
  for (const route of routes) await route[Symbol.asyncDispose]()
  await broker.close()
  await store.close()
})

function routeOf(options: Partial<MetricsOptions> = {}): MetricsRoute {
  const route = metricsRoute({
    store,
    broker,
    clock: systemClock,
    access: accessRule({ host: '127.0.0.1' }),
    onFailure: (error, place) => failures.push(`${String(error)} at ${place}`),
    ...options,
  })
  routes.push(route)
  return route
}

async function scrape(route: MetricsRoute): Promise<ReadonlyMap<string, PrometheusFamily>> {
  const response = await route.beside(new Request('http://localhost/metrics'))
  expect(response?.status).toBe(200)
  expect(response?.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(response?.headers.get('x-content-type-options')).toBe('nosniff')
  return parsePrometheus((await response?.text()) ?? '')
}

function valuesOf(families: ReadonlyMap<string, PrometheusFamily>, name: string): object[] {
  return (families.get(name)?.samples ?? []).map(({ labels, value }) => ({ ...labels, value }))
}

/** A group that has processed everything, and is behind by `behind` changes. */
async function makeGroup(group: string, behind: number): Promise<void> {
  const leases = new DocumentLeaseStore(shop.collection('leases'))
  const host = new ChangeFeedProcessorHost({ group, feed: orders, leases, logger: false })
  await host.runUntilCaughtUp(() => {})
  for (let n = 0; n < behind; n += 1) await orders.upsert({ id: `${group}-${n}` })
}

test('groups, queues, expiry, requests and the process stand in what Prometheus reads', async () => {
  await makeGroup('mirror', 7)
  await makeGroup('search', 2)
  await broker.createQueue('tasks')
  await broker.createSender('tasks').sendMessages([{ body: 1 }, { body: 2 }])
  const route = routeOf()
  const request = { method: 'GET', status: 200, durationMs: 3 }
  const served = { ...request, atMs: 0, address: '', path: '/', bytes: 1, activityId: 'a' }
  // Nobody has asked for metrics yet.
  route.onRequest(served)
  await scrape(route)
  route.onRequest(served)
  route.onRequest({ ...served, status: 404 })
  const families = await scrape(route)
  expect(failures).toEqual([])
  const at = { messaging_destination_name: 'shop/orders' }
  const lag = valuesOf(families, 'tidemark_group_lag')
  expect(lag).toEqual([
    { messaging_consumer_group_name: 'mirror', ...at, value: 9 },
    { messaging_consumer_group_name: 'search', ...at, value: 2 },
  ])
  expect(families.get('tidemark_lease_lag')?.samples).toHaveLength(4)
  expect(valuesOf(families, 'tidemark_group_leases')).toContainEqual({
    messaging_consumer_group_name: 'mirror',
    ...at,
    tidemark_lease_state: 'unowned',
    value: 2,
  })
  expect(valuesOf(families, 'tidemark_queue_messages')).toContainEqual({
    messaging_destination_name: 'tasks',
    tidemark_message_state: 'ready',
    value: 2,
  })
  expect(valuesOf(families, 'tidemark_collection_pending_deletes')).toEqual([{ ...at, value: 0 }])
  const counts = (families.get('http_server_request_duration_seconds')?.samples ?? []).filter(
    ({ name }) => name.endsWith('_count'),
  )
  expect(counts.map(({ labels, value }) => [labels['http_response_status_code'], value])).toEqual([
    ['200', 1],
    ['404', 1],
  ])
  expect(valuesOf(families, 'process_cpu_time_seconds_total')).toHaveLength(2)
  const known = METRICS.map((metric) => prometheusName(metric))
  expect(known).toEqual(expect.arrayContaining([...families.keys()]))
})

test('scrapes share one reading of the store', async () => {
  await makeGroup('mirror', 1)
  const reads = vi.spyOn(store, 'listCollections')
  const route = routeOf()
  await Promise.all(Array.from({ length: 20 }, () => scrape(route)))
  // Three for a group, and one for what expires.
  expect(reads.mock.calls.length).toBeLessThanOrEqual(4)
})

test('what cannot be read is told once, and takes nothing else along', async () => {
  await makeGroup('mirror', 1)
  vi.spyOn(store, 'listCollections').mockRejectedValue(new Error('away'))
  const route = routeOf()
  for (let n = 0; n < 3; n += 1) {
    const families = await scrape(route)
    expect(families.has('tidemark_group_lag')).toBe(false)
    expect(families.has('process_uptime_seconds')).toBe(true)
  }
  expect(failures).toEqual(['Error: away at /metrics'])
})

test('a group whose feed is not in this store has no lag, and the others have theirs', async () => {
  await makeGroup('mirror', 3)
  const other = await shop.createCollectionIfNotExists({ id: 'other', partitionKey: '/id' })
  const leases = new DocumentLeaseStore(shop.collection('leases'))
  await new ChangeFeedProcessorHost({
    group: 'of-other',
    feed: other,
    leases,
    logger: false,
  }).runUntilCaughtUp(() => {})
  await shop.deleteCollection('other')
  const families = await scrape(routeOf())
  expect(valuesOf(families, 'tidemark_group_lag')).toMatchObject([
    { messaging_consumer_group_name: 'mirror', value: 3 },
  ])
  expect(failures).toEqual([])
})

test('who may not ask gets no metrics, and other paths are for others', async () => {
  const access = accessRule({ host: '0.0.0.0', credentials: { bearer: ['token'] } })
  const route = routeOf({ access })
  const ask = (path: string, init?: RequestInit) =>
    route.beside(new Request(`http://example.org${path}`, init))
  expect((await ask('/metrics'))?.status).toBe(401)
  const headers = { authorization: 'Bearer token' }
  expect((await ask('/metrics', { headers }))?.status).toBe(200)
  expect((await ask('/metrics', { headers, method: 'HEAD' }))?.status).toBe(200)
  expect((await ask('/metrics', { headers, method: 'POST' }))?.status).toBe(405)
  for (const path of ['/', '/metrics/', '/metricsx', '/dbs']) {
    expect(await ask(path, { headers })).toBeUndefined()
  }
})

test.each([
  ['a_total 1\n', 'not of the family'],
  ['# HELP a A\n# TYPE a counter\na 1\n', 'ends with _total'],
  ['# HELP a A\n# TYPE a gauge\na{x="1} 1\n', 'no sample'],
  ['# HELP a A\n# TYPE a gauge\na 1\na 2\n', 'twice'],
  ['# HELP a A\n# TYPE a gauge\na 1', 'last line'],
  [
    '# HELP a A\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_count 1\n',
    'rise',
  ],
])('the parser of these tests refuses %j', (text, why) => {
  expect(() => parsePrometheus(text)).toThrow(why)
})
