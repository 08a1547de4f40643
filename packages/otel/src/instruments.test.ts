import { openMessaging } from '@tidemark/messaging'
import {
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  type FeedEstimate,
} from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { lsn, type DocumentBody } from '@tidemark/contracts'
import { openMemoryStore, ShiftedClock, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { instrumentGroups } from './instrument-groups.ts'
import { instrumentHost } from './instrument-host.ts'
import { instrumentQueues } from './instrument-queues.ts'
import { instrumentRequests } from './instrument-requests.ts'
import { instrumentExpiry, instrumentStore } from './instrument-store.ts'
import { METRICS, prometheusName } from './metrics.ts'
import { openTelemetry } from './open-telemetry.ts'
import { instrumentProcess } from './platform/instrument-process.ts'
import { RecordedTelemetry } from './recorded-telemetry.fixture.ts'

/** Stands in every id, key, session and message of an error: no attribute may have it. */
const SECRET = 'hidden-4711'

interface Order extends DocumentBody {
  readonly customer: string
  readonly ttl?: number
}

let store: Store
let shop: Database
let orders: Collection<Order>
/** By how much the store's clock is ahead. */
let clock: ShiftedClock
let leases: DocumentLeaseStore
let recorded: RecordedTelemetry

beforeEach(async () => {
  clock = new ShiftedClock()
  store = await openMemoryStore({
    maintenance: 'manual',
    clock,
  })
  shop = await store.createDatabaseIfNotExists('shop')
  orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
    partitionCount: 2,
    defaultTtl: -1,
  })
  await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
  leases = new DocumentLeaseStore(shop.collection('leases'))
  recorded = new RecordedTelemetry()
})
afterEach(() => store.close())

async function write(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await orders.upsert({ id: `${SECRET}-${n}`, customer: `${SECRET}-${n}` })
  }
}

function hostOf(name: string): ChangeFeedProcessorHost<Order> {
  const { tracer, meter } = recorded
  return new ChangeFeedProcessorHost<Order>({
    hostName: name,
    group: 'mirror',
    feed: orders,
    leases,
    feedOptions: { startFromBeginning: true },
    hostOptions: {
      retryDelayMs: 1,
      failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
    },
    deadLetters: () => {},
    telemetry: openTelemetry({ tracer, meter }),
    logger: false,
  })
}

test('a host tells its leases, its status, transitions by reason, checkpoints and errors', async () => {
  await write(20)
  const host = hostOf('host-a')
  const { meter } = recorded
  using _ = instrumentHost(host, { meter })
  expect(await statusOf()).toBe('idle')
  await host.registerObserver((_context, changes) => {
    if (changes.some(({ id }) => id === `${SECRET}-3`)) throw new Error(SECRET)
  })
  await new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' }).untilCaughtUp({
    timeoutMs: 60_000,
  })
  expect(await statusOf()).toBe('running')
  const about = { 'messaging.consumer.group.name': 'mirror', 'messaging.client.id': 'host-a' }
  expect(await recorded.series('tidemark.host.leases')).toContainEqual([
    { ...about, 'tidemark.lease.state': 'running' },
    2,
  ])
  expect(await recorded.series('tidemark.host.stalled')).toEqual([[about, 0]])
  const [[, remaining] = [{}, 0]] = await recorded.series('tidemark.host.session.remaining')
  expect(remaining).toBeGreaterThan(0)
  expect(await recorded.series('tidemark.dead_letters')).toEqual([[about, 1]])
  const failed = { ...about, 'tidemark.observer.phase': 'processChanges', 'error.type': 'Error' }
  const [[attributes, failures] = [{}, 0]] = await recorded.series('tidemark.observer.errors')
  expect(attributes).toEqual(failed)
  expect(failures).toBeGreaterThan(1)
  await host.unregisterObservers()
  expect(await statusOf()).toBe('stopped')
  const [[, checkpoints] = [{}, 0]] = await recorded.series('tidemark.checkpoints')
  expect(checkpoints).toBeGreaterThan(0)
  expect(await recorded.series('tidemark.lease.transitions')).toEqual([
    [{ ...about, 'tidemark.lease.transition': 'acquired' }, 2],
    [
      {
        ...about,
        'tidemark.lease.transition': 'released',
        'tidemark.lease.reason': 'shutdown',
      },
      2,
    ],
  ])
})

test('what is counted is still logged: a host with metrics alone does not fail in silence', () => {
  const host = hostOf('host-a')
  const listening = vi.spyOn(host, 'on')
  using _ = instrumentHost(host, { meter: recorded.meter })
  expect(listening.mock.calls.map(([name]) => name)).toContain('observerError')
  expect(listening.mock.calls.filter(([, , options]) => options?.countsOnly !== true)).toEqual([])
})

test('two hosts of one process are told apart, and one that is disposed says no more', async () => {
  const { meter } = recorded
  const first = instrumentHost(hostOf('a'), { meter })
  using _ = instrumentHost(hostOf('b'), { meter })
  const clients = async (): Promise<unknown[]> => {
    const series = await recorded.series('tidemark.host.stalled')
    return series.map(([attributes]) => attributes['messaging.client.id'])
  }
  expect(await clients()).toEqual(['a', 'b'])
  first[Symbol.dispose]()
  expect((await clients()).at(-1)).toBe('b')
})

test('what is disposed leaves nothing behind, at the host or at the meter', () => {
  const { meter } = recorded
  let callbacks = 0
  const counting: typeof meter = Object.assign(Object.create(meter), {
    addBatchObservableCallback: () => (callbacks += 1),
    removeBatchObservableCallback: () => (callbacks -= 1),
  })
  const listeners = new Set<unknown>()
  const { group, hostName } = hostOf('a')
  const health = (): never => {
    throw new Error('nobody asks')
  }
  const host = {
    group,
    hostName,
    health,
    on: (_: string, listener: unknown) => listeners.add(listener),
    off: (_: string, listener: unknown) => listeners.delete(listener),
  }
  const instrumented = [
    instrumentHost(host, { meter: counting }),
    instrumentGroups(async () => [], { meter: counting }),
    instrumentExpiry(async () => [], { meter: counting }),
    instrumentProcess({ meter: counting }),
  ]
  expect([callbacks, listeners.size > 10]).toEqual([instrumented.length, true])
  for (const one of instrumented) one[Symbol.dispose]()
  expect([callbacks, listeners.size]).toEqual([0, 0])
})

test('the lag of a group is read by its estimator, at most every five seconds', async () => {
  const clock = new SimulatedClock()
  await hostOf('a').runUntilCaughtUp(() => {})
  await write(12)
  const estimator = new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' })
  let reads = 0
  const { meter } = recorded
  using _ = instrumentGroups(
    async () => {
      reads += 1
      return [await estimator.estimate()]
    },
    { meter, clock },
  )
  const about = {
    'messaging.consumer.group.name': 'mirror',
    'messaging.destination.name': 'shop/orders',
  }
  expect(await recorded.series('tidemark.group.lag')).toEqual([[about, 12]])
  await write(15)
  await clock.advance(4_999)
  expect(await recorded.series('tidemark.group.lag')).toEqual([[about, 12]])
  await clock.advance(1)
  expect(await recorded.series('tidemark.group.lag')).toEqual([[about, 15]])
  expect(reads).toBe(2)
  expect(await recorded.series('tidemark.group.hosts')).toEqual([[about, 0]])
  expect(await recorded.series('tidemark.group.leases')).toContainEqual([
    { ...about, 'tidemark.lease.state': 'unowned' },
    2,
  ])
  const ranges = await recorded.series('tidemark.lease.lag')
  expect(ranges.reduce((sum, [, left]) => sum + left, 0)).toBe(15)
})

test('a reading that takes long is kept for twenty times as long, and is made once at a time', async () => {
  const clock = new SimulatedClock()
  let reads = 0
  const { meter } = recorded
  using _ = instrumentGroups(
    async () => {
      reads += 1
      await clock.sleep(3_000, new AbortController().signal)
      return []
    },
    { meter, clock },
  )
  const both = Promise.all([recorded.collect(), recorded.collect()])
  await clock.advance(3_000)
  await both
  await clock.advance(59_999)
  await recorded.collect()
  expect(reads).toBe(1)
  await clock.advance(1)
  const third = recorded.collect()
  await clock.advance(3_000)
  await third
  expect(reads).toBe(2)
})

test('of groups with many ranges, those with the most left have series of their own', async () => {
  const estimate = estimateOf(Array.from({ length: 300 }, (_, n) => (n * 7) % 300))
  const idle = { ...estimateOf(Array.from({ length: 300 }, () => 0)), group: 'idle' }
  const { meter } = recorded
  using _ = instrumentGroups(async () => [idle, estimate], { meter, maxRanges: 10 })
  const ranges = await recorded.series('tidemark.lease.lag')
  expect(ranges.map(([, left]) => left)).toEqual([299, 298, 297, 296, 295, 294, 293, 292, 291, 290])
  const [, [, total] = [{}, 0]] = await recorded.series('tidemark.group.lag')
  expect(total).toBe((299 * 300) / 2)
})

test('what cannot be read has no series, and takes no other metric along', async () => {
  const { meter } = recorded
  using _groups = instrumentGroups(() => Promise.reject(new Error('away')), { meter })
  using _process = instrumentProcess({ meter })
  const { metrics, errors } = await recorded.collect()
  expect(errors).toHaveLength(1)
  const names = metrics.map(({ descriptor }) => descriptor.name)
  expect(names).toContain('process.uptime')
  const lag = metrics.find(({ descriptor }) => descriptor.name === 'tidemark.group.lag')
  expect(lag?.dataPoints ?? []).toEqual([])
})

test('a store tells what its maintenance does, and what there is left of it', async () => {
  const { meter } = recorded
  using _events = instrumentStore(store, { meter })
  using _views = instrumentExpiry(
    async () => {
      const view = await orders.readExpiry({ withinSeconds: [] })
      return [{ databaseId: 'shop', collectionId: 'orders', ...view }]
    },
    { meter },
  )
  await orders.upsert({ id: SECRET, customer: SECRET, ttl: 60 })
  clock.step(61_000)
  const about = { 'messaging.destination.name': 'shop/orders' }
  expect(await recorded.series('tidemark.collection.unswept')).toEqual([[about, 1]])
  await store.runMaintenance()
  const [range] = await orders.readFeedRanges()
  await write(8)
  await orders.split(range?.id ?? '')
  expect(await recorded.series('tidemark.documents.expired')).toEqual([[about, 1]])
  expect(await recorded.series('tidemark.range.changes')).toEqual([
    [{ ...about, 'tidemark.range.change': 'split' }, 1],
  ])
})

test('queues and subscriptions tell their messages by state', async () => {
  const { meter, tracer } = recorded
  await using broker = openMessaging(shop, { telemetry: openTelemetry({ meter, tracer }) })
  await broker.createQueue('tasks')
  await broker.createTopic('news')
  await broker.createSubscription({ topic: 'news', subscription: 'all' })
  const sender = broker.createSender('tasks')
  await sender.sendMessages(
    [1, 2, 3, 4].map((body) => ({
      body,
      messageId: `${SECRET}-${body}`,
      applicationProperties: { [SECRET]: SECRET },
    })),
  )
  await sender.scheduleMessages({ body: 5 }, new Date(Date.now() + 1e7))
  const receiver = broker.createReceiver('tasks')
  const [locked, deferred, dead] = await receiver.receiveMessages(3)
  expect(locked).toBeDefined()
  await receiver.deferMessage(deferred!)
  await receiver.deadLetterMessage(dead!, { deadLetterReason: SECRET })
  using _ = instrumentQueues(broker, { meter })
  const states = new Map<string, number>()
  for (const [about, count] of await recorded.series('tidemark.queue.messages')) {
    const place = [about['messaging.destination.name']]
    const subscription: unknown = about['messaging.destination.subscription.name']
    if (subscription !== undefined) place.push(subscription)
    states.set([...place, about['tidemark.message.state']].join('/'), count)
  }
  expect(Object.fromEntries(states)).toEqual({
    'tasks/ready': 1,
    'tasks/locked': 1,
    'tasks/deferred': 1,
    'tasks/scheduled': 1,
    'tasks/deadLetter': 1,
    'news/all/ready': 0,
    'news/all/locked': 0,
    'news/all/deferred': 0,
    'news/all/scheduled': 0,
    'news/all/deadLetter': 0,
  })
})

test('requests are counted by method and status, and methods that clients invent as one', async () => {
  const record = instrumentRequests(recorded)
  record({ method: 'GET', status: 200, durationMs: 3 })
  record({ method: 'GET', status: 200, durationMs: 5 })
  record({ method: SECRET, status: 400, durationMs: 1 })
  record({ method: 'POST', status: 0, durationMs: 1 })
  expect(await recorded.series('http.server.request.duration')).toEqual([
    [{ 'http.request.method': 'GET', 'http.response.status_code': 200 }, 2],
    [{ 'http.request.method': '_OTHER', 'http.response.status_code': 400 }, 1],
    [{ 'http.request.method': 'POST' }, 1],
  ])
})

test('no attribute has an id, a key, a session or the text of an error, and all are declared', async () => {
  const { meter, tracer } = recorded
  const telemetry = openTelemetry({ meter, tracer, traceContextOf: 'customer' })
  await using broker = openMessaging(shop, { telemetry })
  await broker.createQueue('sessions', { requiresSession: true })
  const host = hostOf('a')
  using _host = instrumentHost(host, { meter })
  using _store = instrumentStore(store, { meter })
  using _queues = instrumentQueues(broker, { meter })
  using _process = instrumentProcess({ meter })
  const estimator = new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' })
  using _groups = instrumentGroups(async () => [await estimator.estimate()], { meter })
  instrumentRequests({ meter })({ method: SECRET, status: 200, durationMs: 1 })
  await write(12)
  await host.runUntilCaughtUp((_context, changes) => {
    if (changes.some(({ id }) => id.endsWith('-3'))) throw new Error(SECRET)
  })
  const sender = broker.createSender('sessions')
  const message = { body: SECRET, sessionId: SECRET, messageId: SECRET, correlationId: SECRET }
  await sender.sendMessages({ ...message, subject: SECRET })
  const receiver = await broker.acceptSession('sessions', SECRET)
  const [received] = await receiver.receiveMessages(1)
  await receiver.deadLetterMessage(received!, { deadLetterReason: SECRET })
  await expect(receiver.completeMessage(received!)).rejects.toThrow()
  const { metrics } = await recorded.collect()
  const declared = new Map(METRICS.map((metric) => [metric.name, metric]))
  for (const { descriptor, dataPoints } of metrics) {
    const { attributes: known = [], unit } = declared.get(descriptor.name) ?? {}
    expect(descriptor).toMatchObject({ unit, name: expect.toSatisfy((name) => declared.has(name)) })
    for (const { attributes } of dataPoints) {
      expect(JSON.stringify(attributes)).not.toContain(SECRET)
      expect(known).toEqual(expect.arrayContaining(Object.keys(attributes)))
    }
  }
  const spans = recorded.spans.map(({ name, attributes, events, links, status }) => ({
    name,
    attributes,
    events,
    links,
    status,
  }))
  expect(spans.length).toBeGreaterThan(4)
  expect(JSON.stringify(spans)).not.toContain(SECRET)
})

test('every metric of the table is made by an instrument', async () => {
  const { meter } = recorded
  const made = (
    [
      'createCounter',
      'createHistogram',
      'createObservableCounter',
      'createObservableGauge',
    ] as const
  ).map((name) => vi.spyOn(meter, name))
  await using broker = openMessaging(shop, { telemetry: openTelemetry({ meter }) })
  using _host = instrumentHost(hostOf('a'), { meter })
  using _store = instrumentStore(store, { meter })
  using _expiry = instrumentExpiry(async () => [], { meter })
  using _queues = instrumentQueues(broker, { meter })
  using _process = instrumentProcess({ meter })
  using _groups = instrumentGroups(async () => [], { meter })
  instrumentRequests({ meter })
  const names = new Set(made.flatMap((calls) => calls.mock.calls.map(([name]) => name)))
  expect(METRICS.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
})

test('names in Prometheus have their units, as a collector makes them', () => {
  const names = METRICS.map((metric) => prometheusName(metric))
  expect(new Set(names).size).toBe(METRICS.length)
  expect(names).toEqual(
    expect.arrayContaining([
      'messaging_process_duration_seconds',
      'messaging_client_sent_messages_total',
      'tidemark_group_lag',
      'tidemark_group_lag_age_seconds',
      'tidemark_queue_size_bytes',
      'process_cpu_time_seconds_total',
      'nodejs_eventloop_utilization_ratio',
    ]),
  )
})

async function statusOf(): Promise<unknown> {
  const series = await recorded.series('tidemark.host.status')
  expect(series.reduce((sum, [, is]) => sum + is, 0)).toBe(1)
  return series.find(([, is]) => is === 1)?.[0]['tidemark.host.status']
}

function estimateOf(lags: readonly number[]): FeedEstimate {
  const total = lags.reduce((sum, one) => sum + one, 0)
  return {
    group: 'mirror',
    feed: 'shop/orders',
    atMs: 0,
    paused: false,
    hosts: [],
    remainingChanges: total,
    isExact: true,
    lsnDistance: total,
    oldestChangeAgeMs: undefined,
    caughtUp: false,
    leases: lags.map((remainingChanges, n) => ({
      leaseId: `lease-${n}`,
      range: { minInclusive: '', maxExclusive: 'FF' },
      state: 'owned',
      owner: 'a',
      epoch: 1,
      checkpointLsn: lsn(0),
      newestLsn: lsn(remainingChanges),
      lsnDistance: remainingChanges,
      remainingChanges,
      isExact: true,
      oldestChangeAgeMs: undefined,
      attempts: undefined,
      timestampMs: 0,
      problem: undefined,
    })),
  }
}

test('limits that would read nothing, or everything, are refused', async () => {
  await using broker = openMessaging(shop)
  expect(() => instrumentGroups(async () => [], { maxRanges: -1 })).toThrow(
    'maxRanges must be a whole number of 0 or more, got -1',
  )
  expect(() => instrumentQueues(broker, { maxEntities: 0.5 })).toThrow(
    'maxEntities must be a whole number of 1 or more, got 0.5',
  )
})
