import type { Telemetry, TelemetryCall, TelemetryItem } from '@tidemark/contracts'
import { openMemoryStore } from '@tidemark/testing'
import { beforeEach, expect, test } from 'vitest'
import { openMessaging, type MessageBroker } from './message-broker.ts'

interface Observed extends TelemetryCall {
  readonly received: readonly TelemetryItem[] | undefined
  readonly failure: unknown
}

const CONTEXT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

let observed: Observed[]
let properties: Readonly<Record<string, string>> | undefined
const recording: Telemetry = {
  observe: async (call, act) => {
    let received: readonly TelemetryItem[] | undefined
    let failure: unknown
    try {
      return await act((items) => (received = items))
    } catch (error) {
      failure = error
      throw error
    } finally {
      observed.push({ ...call, received, failure })
    }
  },
  messageProperties: () => properties,
}

async function openBroker(
  telemetry: Telemetry = recording,
): Promise<{ broker: MessageBroker } & AsyncDisposable> {
  const store = await openMemoryStore()
  const database = await store.createDatabaseIfNotExists('shop')
  const broker = openMessaging(database, { telemetry })
  return {
    broker,
    [Symbol.asyncDispose]: async () => {
      await broker.close()
      await store.close()
    },
  }
}

beforeEach(() => {
  observed = []
  properties = undefined
})

test('calls are told with their entity and their number of messages', async () => {
  await using world = await openBroker()
  const { broker } = world
  await broker.createQueue('q')
  const sender = broker.createSender('q')
  await sender.sendMessages([{ body: 1 }, { body: 2 }])
  const batch = await sender.createMessageBatch()
  batch.tryAddMessage({ body: 3 })
  await sender.sendMessages(batch)
  const numbers = await sender.scheduleMessages({ body: 4 }, new Date(Date.now() + 1e8))
  await sender.cancelScheduledMessages(numbers)
  const receiver = broker.createReceiver('q')
  const [first, second, third] = await receiver.receiveMessages(3)
  await receiver.completeMessage(first!)
  await receiver.deferMessage(second!)
  await receiver.receiveDeferredMessages(second!.sequenceNumber)
  await receiver.deadLetterMessage(third!)
  await expect(receiver.abandonMessage(third!)).rejects.toThrow()
  for await (const message of broker.createReceiver('q', { subQueueType: 'deadLetter' })) {
    expect(message.body).toBe(3)
    break
  }
  expect(
    observed.map(({ type, name, count, received }) => [type, name, received?.length ?? count]),
  ).toEqual([
    ['send', 'send', 2],
    ['send', 'send', 1],
    ['send', 'schedule', 1],
    ['send', 'cancel', 1],
    ['receive', 'receive', 3],
    ['settle', 'complete', 1],
    ['settle', 'defer', 1],
    ['receive', 'receive_deferred', 1],
    ['settle', 'dead_letter', 1],
    ['settle', 'abandon', 1],
    ['receive', 'receive', 1],
  ])
  expect(observed.filter(({ failure }) => failure !== undefined)).toMatchObject([
    { name: 'abandon', failure: { code: 'ERR_MESSAGE_LOCK_LOST' } },
  ])
  expect(new Set(observed.map(({ destination }) => destination))).toEqual(
    new Set(['q', 'q/$DeadLetterQueue']),
  )
})

test('a handler is a call of its own, and so is what settles its message', async () => {
  await using world = await openBroker()
  const { broker } = world
  await broker.createTopic('t')
  await broker.createSubscription({ topic: 't', subscription: 's' })
  await broker
    .createSender('t')
    .sendMessages({ body: 1, applicationProperties: { traceparent: CONTEXT } })
  const done = Promise.withResolvers<void>()
  const subscription = broker.createReceiver({ topic: 't', subscription: 's' }).subscribe({
    processMessage: async () => done.resolve(),
    processError: async ({ error }) => done.reject(error),
  })
  await done.promise
  await subscription.close()
  const place = { destination: 't', subscription: 's', count: 1 }
  expect(observed).toMatchObject([
    { type: 'send', name: 'send', destination: 't', subscription: undefined },
    {
      type: 'process',
      name: 'process',
      ...place,
      items: [{ applicationProperties: { traceparent: CONTEXT } }],
    },
    { type: 'settle', name: 'complete', ...place },
  ])
})

test('messages carry the trace context, unless they have one or no room for it', async () => {
  await using world = await openBroker()
  const { broker } = world
  await broker.createQueue('q')
  const sender = broker.createSender('q')
  properties = { traceparent: CONTEXT }
  const full = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`p${n}`, n]))
  await sender.sendMessages([
    { body: 1, applicationProperties: { kind: 'a' } },
    { body: 2, applicationProperties: { traceparent: 'its own' } },
    { body: 3, applicationProperties: full },
  ])
  const batch = await sender.createMessageBatch()
  batch.tryAddMessage({ body: 4 })
  await sender.sendMessages(batch)
  const messages = await broker.createReceiver('q').receiveMessages(4)
  expect(messages.map(({ applicationProperties }) => applicationProperties)).toEqual([
    { kind: 'a', traceparent: CONTEXT },
    { traceparent: 'its own' },
    full,
    { traceparent: CONTEXT },
  ])
})

const AWAY = new Error('the collector is away')

test.each<[string, Telemetry['observe']]>([
  [
    'throws',
    () => {
      throw AWAY
    },
  ],
  [
    'fails when the call is over',
    async (_, act) => {
      await act(() => {
        throw AWAY
      })
      throw AWAY
    },
  ],
  [
    'calls twice',
    async (_, act) => {
      await act(() => {})
      return act(() => {})
    },
  ],
])('a telemetry that %s costs no message', async (_, observe) => {
  const messageProperties = (): undefined => {
    throw AWAY
  }
  await using world = await openBroker({ observe, messageProperties })
  const { broker } = world
  await broker.createQueue('q')
  await broker.createSender('q').sendMessages([{ body: 1 }, { body: 2 }])
  const receiver = broker.createReceiver('q')
  const [first] = await receiver.receiveMessages(1)
  await receiver.completeMessage(first!)
  await expect(receiver.completeMessage(first!)).rejects.toThrow()
  const once = broker.createReceiver('q', { receiveMode: 'receiveAndDelete' })
  expect((await once.receiveMessages(1)).map(({ body }) => body)).toEqual([2])
})
