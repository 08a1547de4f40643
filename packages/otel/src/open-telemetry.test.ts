import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { DocumentBody, Telemetry } from '@tidemark/contracts'
import { openMessaging } from '@tidemark/messaging'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { DocumentLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.ts'
import { RecordedTelemetry, useContexts } from './recorded-telemetry.fixture.ts'

interface Order extends DocumentBody {
  readonly customer: string
  readonly traceparent?: string
}

let store: Store
let shop: Database
let orders: Collection<Order>
let recorded: RecordedTelemetry
let contexts: Disposable

beforeEach(async () => {
  store = await openMemoryStore()
  shop = await store.createDatabaseIfNotExists('shop')
  orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
  })
  await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
  recorded = new RecordedTelemetry()
  contexts = useContexts()
})
afterEach(async () => {
  contexts[Symbol.dispose]()
  await store.close()
})

function telemetryOf(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracer, meter } = recorded
  return openTelemetry({ tracer, meter, ...options })
}

/** The `traceparent` of the n-th of many traces. */
function traceparent(n: number): string {
  return `00-${(n + 1).toString(16).padStart(32, '0')}-00f067aa0ba902b7-01`
}

async function processAll(
  telemetry: Telemetry,
  processChanges: () => Promise<void> | void,
): Promise<void> {
  const host = new ChangeFeedProcessorHost<Order>({
    hostName: 'host-a',
    group: 'mirror',
    feed: orders,
    leases: new DocumentLeaseStore(shop.collection('leases')),
    feedOptions: { startFromBeginning: true },
    hostOptions: { retryDelayMs: 1 },
    telemetry,
    logger: false,
  })
  await host.runUntilCaughtUp(processChanges)
}

async function writeOrders(
  count: number,
  traceOf: (n: number) => string | undefined,
): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const parent = traceOf(n)
    await orders.upsert({
      id: `o${n}`,
      customer: 'c',
      ...(parent !== undefined && { traceparent: parent }),
    })
  }
}

test('a batch is processed in a span of its own, which what the observer does belongs to', async () => {
  await writeOrders(3, () => undefined)
  await processAll(telemetryOf(), () => {
    recorded.tracer.startSpan('of the observer').end()
  })
  const [inner, outer] = recorded.spans
  expect(outer).toMatchObject({
    name: 'process shop/orders',
    kind: SpanKind.CONSUMER,
    status: { code: SpanStatusCode.UNSET },
    attributes: {
      'messaging.system': 'tidemark',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'shop/orders',
      'messaging.consumer.group.name': 'mirror',
      'messaging.client.id': 'host-a',
      'messaging.batch.message_count': 3,
      'messaging.destination.partition.id': expect.any(String),
    },
    links: [],
  })
  expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId)
  const about = {
    'messaging.system': 'tidemark',
    'messaging.operation.name': 'process',
    'messaging.destination.name': 'shop/orders',
    'messaging.consumer.group.name': 'mirror',
  }
  expect(await recorded.series('messaging.process.duration')).toEqual([[about, 1]])
  expect(await recorded.series('messaging.client.consumed.messages')).toEqual([[about, 3]])
})

test('a batch that failed has the class of its error, and not its message', async () => {
  await writeOrders(1, () => undefined)
  let calls = 0
  await processAll(telemetryOf(), () => {
    calls += 1
    if (calls === 1) throw new RangeError('order o0 is too large')
  })
  const [failed, done] = recorded.spans
  expect(failed).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'RangeError' },
    events: [],
  })
  expect(done?.attributes).not.toHaveProperty('error.type')
  expect(JSON.stringify(failed?.status)).not.toContain('o0')
  const durations = await recorded.series('messaging.process.duration')
  expect(durations.map(([attributes]) => attributes['error.type'])).toEqual([
    'RangeError',
    undefined,
  ])
})

test.each<[string, OpenTelemetryOptions['traceContextOf']]>([
  ['a property', 'traceparent'],
  [
    'a function',
    (change) =>
      change.kind === 'document' ? String(Reflect.get(change.document, 'traceparent')) : undefined,
  ],
])('it links to the spans that wrote its documents, by %s', async (_, traceContextOf) => {
  // Two of one trace, one without, one that is none.
  const parents = [traceparent(1), traceparent(1), undefined, 'nothing', traceparent(2)]
  await writeOrders(parents.length, (n) => parents[n])
  await processAll(telemetryOf({ traceContextOf }), () => {})
  expect(recorded.spans[0]?.links.map(({ context: { traceId } }) => traceId.slice(-1))).toEqual([
    '2',
    '3',
  ])
})

test('it links to 128 spans at most, and a function that throws takes nothing along', async () => {
  await writeOrders(140, traceparent)
  await processAll(telemetryOf({ traceContextOf: 'traceparent' }), () => {})
  expect(Math.max(...recorded.spans.map(({ links }) => links.length))).toBeLessThanOrEqual(128)
  const [{ count } = { count: 0 }] = recorded.spans.map(({ links }) => ({ count: links.length }))
  expect(count).toBeGreaterThan(90)
  await writeOrders(1, traceparent)
  const thrower = telemetryOf({
    traceContextOf: () => {
      throw new Error('no')
    },
  })
  await processAll(thrower, () => {})
  expect(recorded.spans.at(-1)?.links).toEqual([])
})

test('a message carries the span that sent it, to which the span of its handler links', async () => {
  const broker = openMessaging(shop, { telemetry: telemetryOf() })
  await broker.createQueue('tasks')
  await broker.createSender('tasks').sendMessages({ body: 1 })
  const handled = Promise.withResolvers<string>()
  const receiver = broker.createReceiver('tasks')
  const subscription = receiver.subscribe({
    processMessage: async ({ applicationProperties = {} }) => {
      recorded.tracer.startSpan('of the handler').end()
      handled.resolve(String(applicationProperties['traceparent']))
    },
    processError: async ({ error }) => handled.reject(error),
  })
  const carried = await handled.promise
  await subscription.close()
  await broker.close()
  const [send, inner, process, complete] = recorded.spans
  expect([send, process, complete]).toMatchObject([
    { name: 'send tasks', kind: SpanKind.PRODUCER },
    { name: 'process tasks', kind: SpanKind.CONSUMER },
    { name: 'complete tasks', kind: SpanKind.CLIENT },
  ])
  expect(send?.attributes['messaging.batch.message_count']).toBe(1)
  expect(process?.attributes).not.toHaveProperty('messaging.batch.message_count')
  const { traceId = '', spanId = '' } = send?.spanContext() ?? {}
  expect(carried).toBe(`00-${traceId}-${spanId}-01`)
  expect(process?.links).toMatchObject([{ context: { traceId, spanId } }])
  expect(inner?.parentSpanContext?.spanId).toBe(process?.spanContext().spanId)
})

test('receive links to what sent the messages, also to older clients of Service Bus', async () => {
  const broker = openMessaging(shop, { telemetry: telemetryOf() })
  await broker.createTopic('news')
  await broker.createSubscription({ topic: 'news', subscription: 'all' })
  const sender = broker.createSender('news')
  await sender.sendMessages([
    { body: 1, applicationProperties: { 'Diagnostic-Id': traceparent(6) } },
    { body: 2, applicationProperties: { traceparent: traceparent(7), tracestate: 'a=b' } },
  ])
  const receiver = broker.createReceiver({ topic: 'news', subscription: 'all' })
  const messages = await receiver.receiveMessages(10, { maxTimeAfterFirstMessageInMs: 0 })
  await receiver.deadLetterMessage(messages[0]!)
  await receiver.abandonMessage(messages[1]!)
  await broker.close()
  const [send, receive, ...settled] = recorded.spans
  // Their own creation contexts.
  expect(send?.links).toHaveLength(2)
  expect(receive).toMatchObject({
    name: 'receive news/all',
    kind: SpanKind.CLIENT,
    attributes: {
      'messaging.destination.name': 'news',
      'messaging.destination.subscription.name': 'all',
      'messaging.batch.message_count': 2,
    },
  })
  expect(receive?.links.map(({ context: { traceId } }) => traceId.slice(-1))).toEqual(['7', '8'])
  expect(receive?.links[1]?.context.traceState?.serialize()).toBe('a=b')
  expect(settled.map(({ name }) => name)).toEqual(['dead_letter news/all', 'abandon news/all'])
  const sent = await recorded.series('messaging.client.sent.messages')
  const consumed = await recorded.series('messaging.client.consumed.messages')
  expect([sent.map(([, count]) => count), consumed.map(([, count]) => count)]).toEqual([[2], [2]])
  const operations = await recorded.series('messaging.client.operation.duration')
  expect(operations.map(([about]) => about['messaging.operation.type'])).toEqual([
    'send',
    'receive',
    'settle',
    'settle',
  ])
})

test('messages carry nothing where that is not wanted, or where there is no span', async () => {
  const carriedBy = async (telemetry: Telemetry): Promise<unknown> => {
    const broker = openMessaging(shop, { telemetry })
    await broker.createQueue('quiet').catch(() => {})
    await broker.createSender('quiet').sendMessages({ body: 1 })
    const receiver = broker.createReceiver('quiet', { receiveMode: 'receiveAndDelete' })
    const [message] = await receiver.receiveMessages(1)
    await broker.close()
    return message?.applicationProperties
  }
  expect(await carriedBy(telemetryOf({ writeTraceContext: false }))).toEqual({})
  // Without an SDK.
  expect(await carriedBy(openTelemetry())).toEqual({})
  expect(await carriedBy(telemetryOf())).toHaveProperty('traceparent')
})

test('a message that is scheduled is sent, and not again when it is cancelled', async () => {
  const broker = openMessaging(shop, { telemetry: telemetryOf() })
  await broker.createQueue('later')
  const sender = broker.createSender('later')
  const inADay = new Date(Date.now() + 86_400_000)
  await sender.cancelScheduledMessages(await sender.scheduleMessages({ body: 1 }, inADay))
  await broker.close()
  expect(recorded.spans.map(({ name }) => name)).toEqual(['schedule later', 'cancel later'])
  const sent = await recorded.series('messaging.client.sent.messages')
  expect(sent.map(([about, count]) => [about['messaging.operation.name'], count])).toEqual([
    ['schedule', 1],
  ])
})

test('it belongs to the span of its caller', async () => {
  const broker = openMessaging(shop, { telemetry: telemetryOf() })
  await broker.createQueue('tasks')
  const outer = recorded.tracer.startSpan('outer')
  await context.with(trace.setSpan(context.active(), outer), async () => {
    await broker.createSender('tasks').sendMessages({ body: 1 })
  })
  outer.end()
  await broker.close()
  expect(recorded.spans[0]?.parentSpanContext?.spanId).toBe(outer.spanContext().spanId)
})

test('a wrong option is refused by its name', () => {
  expect(() => openTelemetry({ tracer: {} as never })).toThrow('tracer must be')
  expect(() => openTelemetry({ traceContextOf: 4 as never })).toThrow('traceContextOf must be')
})
