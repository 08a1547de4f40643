import { systemRandom } from '@tidemark/contracts'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import type { MessageFront } from '@tidemark/messaging/front'
import { openMemoryStore } from '@tidemark/testing'
import rhea from 'rhea'
import { expect, test } from 'vitest'
import { BATCH_FORMAT, decodeTransfer } from './decode-transfer.ts'
import { encodeDelivery } from './encode-delivery.ts'
import { rheaBytes, rheaMessage } from './stored-message.fixture.ts'

const { types, message: amqp } = rhea
const AT_ONCE = { maxWaitTimeInMs: 0 }
const UUID = Buffer.from('00112233445566778899aabbccddeeff', 'hex')

const SENT = {
  message_id: types.wrap_uuid(UUID),
  group_id: 's',
  subject: 'l',
  content_type: 'application/json',
  application_properties: { id: types.wrap_uuid(UUID), n: types.wrap_short(3) },
}

/** A broker over a store in memory, to which these messages were sent over AMQP. */
class World implements AsyncDisposable {
  readonly broker: MessageBroker
  readonly front: MessageFront
  readonly #close: () => Promise<void>

  private constructor(broker: MessageBroker, close: () => Promise<void>) {
    this.broker = broker
    this.front = broker.front()
    this.#close = close
  }

  static async open(): Promise<World> {
    const store = await openMemoryStore()
    const broker = openMessaging(await store.createDatabaseIfNotExists('shop'))
    return new World(broker, async () => {
      await broker.close()
      await store.close()
    })
  }

  async send(path: string, ...messages: readonly object[]): Promise<void> {
    const bytes = rheaBytes({ body: amqp.data_sections(messages.map((one) => rheaBytes(one))) })
    await this.front.send(path, decodeTransfer({ format: BATCH_FORMAT, bytes }, systemRandom))
  }

  /** As clients of AMQP get them. */
  async taken(path: string): Promise<readonly rhea.Message[]> {
    const link = this.front.openLink(path, 'receiveAndDelete')
    const received = await link.receive({
      max: 100,
      maxWaitMs: 0,
      afterFirstMs: 0,
      signal: undefined,
    })
    await link.close()
    return received.map(({ message }) => rheaMessage(encodeDelivery(message, undefined)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

test('SET-17 what was sent over AMQP is received through the broker’s own API', async () => {
  await using world = await World.open()
  await world.broker.createQueue('q')
  await world.send(
    'q',
    { ...SENT, ttl: 60_000, body: amqp.data_section(Buffer.from('{"a":1}')) },
    { message_id: 'bytes', body: amqp.data_section(Buffer.from([0xff, 0])) },
    { message_id: 'value', body: 'x' },
  )
  const [json, bytes, value] = await world.broker.createReceiver('q').receiveMessages(3, AT_ONCE)
  expect(json).toMatchObject({
    body: { a: 1 },
    messageId: '00112233-4455-6677-8899-aabbccddeeff',
    sessionId: 's',
    subject: 'l',
    timeToLive: 60_000,
    applicationProperties: { id: '00112233-4455-6677-8899-aabbccddeeff', n: 3 },
  })
  expect(bytes?.body).toEqual(new Uint8Array([0xff, 0]))
  expect(value?.body).toEqual(new Uint8Array(Buffer.from('005377a10178', 'hex')))
})

test('SET-17 what the broker’s own API sent is received over AMQP', async () => {
  await using world = await World.open()
  await world.broker.createQueue('q')
  const applicationProperties = { n: 1, at: new Date(5) }
  await world.broker
    .createSender('q')
    .sendMessages({ body: { a: 1 }, messageId: 'm', timeToLive: 60_000, applicationProperties })
  const [message] = await world.taken('q')
  expect(message).toMatchObject({
    message_id: 'm',
    ttl: 60_000,
    application_properties: applicationProperties,
    body: amqp.data_section(Buffer.from('{"a":1}')),
  })
})

test('TOP-03 TOP-06 rules see such messages, and their actions keep the types of what they leave', async () => {
  await using world = await World.open()
  const { broker } = world
  await broker.createTopic('t')
  const subscription = { topic: 't', subscription: 's' }
  await broker.createSubscription(subscription, {
    rules: [
      {
        name: 'r',
        filter: { sqlExpression: "n = 3 AND sys.Label = 'l' AND EXISTS(id)" },
        action: { sqlExpression: 'SET copy = id; SET n = n + 1; SET sys.Label = NULL' },
      },
    ],
  })
  await world.send('t', { ...SENT, body: 1 }, { ...SENT, subject: 'other', body: 2 })
  const messages = await world.taken('t/Subscriptions/s')
  expect(messages).toHaveLength(1)
  expect(messages[0]).toMatchObject({
    message_id: UUID,
    application_properties: { id: UUID, copy: UUID, n: 4, RuleName: 'r' },
    body: 1,
  })
  expect(messages[0]).not.toHaveProperty('subject')
})

test('SET-13 SET-14 they are forwarded, die, are fed to observers and are sent back', async () => {
  await using world = await World.open()
  const { broker } = world
  await broker.createQueue('b', { requiresSession: true })
  await broker.createQueue('a', { forwardTo: 'b' })
  await world.send('a', { ...SENT, body: amqp.sequence_section([1]) })
  const receiver = await broker.acceptSession('b', 's')
  const [message] = await receiver.receiveMessages(1, AT_ONCE)
  await receiver.deadLetterMessage(message!, { deadLetterReason: 'because' })

  const feed = broker.deadLetterFeed('b')
  const [range] = await feed.readFeedRanges()
  const { continuation } = await feed.resolveStart({
    range: range!,
    start: 'beginning',
    mode: 'latestVersion',
  })
  const page = await feed.readPage({ range: range!, continuation })
  expect(page.changes).toMatchObject([
    { partitionKey: 's', document: { reason: 'because', message: { subject: 'l' } } },
  ])

  expect(await broker.redriveDeadLetters('b')).toHaveLength(1)
  const [again] = await receiver.receiveMessages(1, AT_ONCE)
  expect(again).toMatchObject({ sessionId: 's', applicationProperties: { n: 3 } })
  await receiver.deadLetterMessage(again!)
  const [dead] = await world.taken('b/$DeadLetterQueue')
  expect(dead).toMatchObject({ message_id: UUID, body: amqp.sequence_section([1]) })
})
