import { randomUUID } from 'node:crypto'
import type { ServiceBusMessage, ServiceBusReceivedMessage } from '@azure/service-bus'
import { describe, expect, test } from 'vitest'
import { receive, only } from './client-entity.ts'
import { Namespace, refusal } from './interop-amqp.fixture.ts'

type AmqpAnnotatedMessage = ServiceBusReceivedMessage['_rawAmqpMessage']

const JSON_BODIES: readonly unknown[] = [
  'text',
  '',
  'ünïcödé 🚀',
  0,
  -1.5,
  9_007_199_254_740_991,
  true,
  false,
  null,
  [],
  [1, 'a', null, { b: [true] }],
  {},
  { a: { b: { c: [1, 2, 3] } }, d: '2026-01-01T00:00:00Z' },
]

const VALUES: readonly unknown[] = [
  'text',
  42,
  -7,
  1.25,
  true,
  false,
  null,
  { a: 1, b: 'c' },
  ['x', 1],
]

const PROPERTIES: readonly (readonly [string, number | boolean | string | Date | null])[] = [
  ['a text', 'text'],
  ['an empty text', ''],
  ['a number', 12],
  ['a negative number', -12],
  ['a fraction', 0.1],
  ['a number above 32 bits', 5_000_000_000],
  ['the largest exact number', Number.MAX_SAFE_INTEGER],
  ['true', true],
  ['false', false],
  ['null', null],
]

const IDS: readonly (readonly [string, string | number | Buffer])[] = [
  ['a text', 'order-1'],
  ['a text of 128 characters', 'x'.repeat(128)],
  ['a number', 42],
  // The client sends bytes as a UUID.
  ['sixteen bytes', Buffer.from('000102030405060708090a0b0c0dfeff', 'hex')],
]

describe('Bodies and properties', () => {
  test('SET-17 JSON of every kind comes back as it was sent', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...JSON_BODIES.map((body) => ({ body })))
    const received = await queue.receive(JSON_BODIES.length)
    expect(received.map((message): unknown => message.body)).toEqual(JSON_BODIES)
  })

  test('SET-17 undefined is null for whoever receives it', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: undefined })
    expect((await queue.receiveOne()).body).toBeNull()
  })

  test('SET-17 bytes come back as they were sent', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const body = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
    await queue.send({ body })
    const received: unknown = (await queue.receiveOne()).body
    expect(Buffer.isBuffer(received) && received.equals(body)).toBe(true)
  })

  test('SET-17 a body that looks like JSON can be had as bytes', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: { a: 1 } })
    const received: unknown = only(
      await receive(queue.open({ skipParsingBodyAsJson: true }), 1),
    ).body
    expect(Buffer.isBuffer(received) && received.toString()).toBe('{"a":1}')
  })

  test('SET-17 value sections of every type come back as they were sent', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    for (const body of VALUES) {
      const message: AmqpAnnotatedMessage = { body, bodyType: 'value' }
      await queue.sender.sendMessages(message)
    }
    const received = await queue.receive(VALUES.length)
    expect(received.map((message): unknown => message.body)).toEqual(VALUES)
    for (const { _rawAmqpMessage: raw } of received) expect(raw.bodyType).toBe('value')
  })

  test('SET-17 a sequence section comes back as a sequence', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const message: AmqpAnnotatedMessage = {
      body: [1, 'two', false, ['four']],
      bodyType: 'sequence',
    }
    await queue.sender.sendMessages(message)
    const { body, _rawAmqpMessage: raw } = await queue.receiveOne()
    expect(raw.bodyType).toBe('sequence')
    expect(body).toEqual([1, 'two', false, ['four']])
  })

  test('SET-17 sections of all kinds can stand in one batch', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const batch = await queue.sender.createMessageBatch()
    const bodyTypes = ['data', 'value', 'sequence'] as const
    for (const bodyType of bodyTypes) {
      const message: AmqpAnnotatedMessage = { body: ['x'], bodyType }
      expect(batch.tryAddMessage(message)).toBe(true)
    }
    await queue.sender.sendMessages(batch)
    const received = await queue.receive(3)
    expect(received.map(({ _rawAmqpMessage: raw }) => raw.bodyType)).toEqual(bodyTypes)
    for (const { body } of received) expect(body).toEqual(['x'])
  })

  test('SET-17 sections and annotations that are the application’s own come back', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const message: AmqpAnnotatedMessage = {
      body: 'a',
      bodyType: 'value',
      header: { durable: true, priority: 7 },
      footer: { checksum: 'f00' },
      messageAnnotations: { 'x-opt-own': 'kept' },
      properties: { contentEncoding: 'utf-8', groupSequence: 3 },
    }
    await queue.sender.sendMessages(message)
    const { _rawAmqpMessage: raw } = await queue.receiveOne()
    expect(raw.header).toMatchObject({ durable: true, priority: 7 })
    expect(raw.footer).toEqual({ checksum: 'f00' })
    expect(raw.messageAnnotations?.['x-opt-own']).toBe('kept')
    expect(raw.properties).toMatchObject({ contentEncoding: 'utf-8', groupSequence: 3 })
  })

  test.each(PROPERTIES)('SET-17 an application property can be %s', async (_, value) => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', applicationProperties: { value, other: 'o' } })
    const { applicationProperties } = await queue.receiveOne()
    expect(applicationProperties).toEqual({ value, other: 'o' })
  })

  test('SET-17 a date among the application properties stays a date', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const at = new Date('2026-03-04T05:06:07.089Z')
    await queue.send({ body: 'a', applicationProperties: { at } })
    const [peeked] = await queue.peek()
    // The client shows dates as numbers unless it is told not to.
    expect(peeked?.applicationProperties?.['at']).toBe(at.getTime())
    const [received] = await receive(queue.open({ skipConvertingDate: true }), 1)
    expect(received?.applicationProperties?.['at']).toEqual(at)
  })

  test('SET-17 every property of a message comes back', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const message: ServiceBusMessage = {
      body: 'a',
      messageId: 'm-1',
      contentType: 'text/plain',
      correlationId: 'c-1',
      partitionKey: 's-1',
      sessionId: 's-1',
      replyToSessionId: 's-2',
      timeToLive: 3_600_000,
      subject: 'about',
      to: 'there',
      replyTo: 'here',
    }
    await queue.send(message)
    expect(await queue.receiveOne()).toMatchObject(message)
  })

  test('SET-17 properties that were not set are not there', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    const { contentType, correlationId, sessionId, replyTo, to, subject, timeToLive } = message
    for (const value of [contentType, correlationId, sessionId, replyTo, to, subject, timeToLive]) {
      expect(value).toBeUndefined()
    }
    expect(message.deadLetterReason).toBeUndefined()
    expect(message.deadLetterSource).toBeUndefined()
    expect(message.scheduledEnqueueTimeUtc).toBeUndefined()
  })

  test.each(IDS)('SET-17 a message id can be %s', async (_, messageId) => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', messageId })
    const received = (await queue.receiveOne()).messageId
    if (Buffer.isBuffer(messageId)) {
      expect(Buffer.isBuffer(received) && received.equals(messageId)).toBe(true)
    } else expect(received).toBe(messageId)
  })

  test('SET-17 a correlation id can be a number or bytes', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(
      { body: 'a', correlationId: 7 },
      { body: 'b', correlationId: Buffer.from('sixteen bytes, 7') },
    )
    const [a, b] = await queue.receive(2)
    expect(a?.correlationId).toBe(7)
    expect(String(b?.correlationId)).toBe('sixteen bytes, 7')
  })

  test('SET-17 a message without an id gets one, another for each', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    const ids = (await queue.peek()).map(({ messageId }) => messageId)
    for (const id of ids) expect(id).toEqual(expect.stringMatching(/.+/))
    expect(new Set(ids).size).toBe(2)
  })

  test('SET-17 an id that is too long is refused by the client itself', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { message } = await refusal(queue.send({ body: 'a', messageId: 'x'.repeat(129) }))
    expect(message).toContain('128')
  })

  test('SET-17 a message that was received can be sent on', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const other = await space.queue({}, 'other')
    const id = randomUUID()
    await queue.send({ body: { a: 1 }, messageId: id, applicationProperties: { n: 1, t: 'x' } })
    const message = await queue.receiveOne()
    await other.sender.sendMessages(message)
    expect(await other.receiveOne()).toMatchObject({
      body: { a: 1 },
      messageId: id,
      applicationProperties: { n: 1, t: 'x' },
    })
  })

  test('SET-17 properties of a message to a topic come back from its subscriptions', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    const message = { body: [1], subject: 's', messageId: 9, applicationProperties: { n: 0.5 } }
    await entity.send(message)
    expect(await entity.receiveOne()).toMatchObject(message)
  })

  test('SCH-03 everything else of a scheduled message comes back', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const message = {
      body: [1, { a: 2 }],
      messageId: 'm',
      subject: 's',
      applicationProperties: { n: 1, t: 'x' },
    }
    await queue.sender.scheduleMessages(message, space.in(60_000))
    expect(await queue.peekOne()).toMatchObject(message)
    space.clock.jump(60_000)
    expect(await queue.receiveOne()).toMatchObject(message)
  })
})
