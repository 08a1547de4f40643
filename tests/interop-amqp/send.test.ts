import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bodies, only, receive, sortedBodies } from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const KB = 1024
/** Does not shrink, whatever is done to it. */
const noise = (bytes: number): Buffer => randomBytes(bytes)

describe('Sending', () => {
  test('SET-18 messages of one sender have numbers without gaps, in their order', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    await queue.send('c')
    const messages = await queue.peek()
    expect(bodies(messages)).toEqual(['a', 'b', 'c'])
    expect(messages.map(({ sequenceNumber }) => sequenceNumber?.toNumber())).toEqual([1, 2, 3])
  })

  test('SET-18 the enqueued time and the enqueued number are the broker’s', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const before = space.clock.wallMs()
    await queue.send('a')
    const after = space.clock.wallMs()
    const { enqueuedTimeUtc, enqueuedSequenceNumber, sequenceNumber } = await queue.receiveOne()
    expect(enqueuedTimeUtc?.getTime()).toBeGreaterThanOrEqual(before)
    expect(enqueuedTimeUtc?.getTime()).toBeLessThanOrEqual(after)
    expect(enqueuedSequenceNumber).toBe(sequenceNumber?.toNumber())
  })

  test('SET-18 numbers of senders that send at once are given once each', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const senders = Array.from({ length: 8 }, () => queue.client.createSender(queue.name))
    await Promise.all(
      senders.flatMap((sender, at) =>
        Array.from({ length: 10 }, (_, index) => sender.sendMessages({ body: at * 10 + index })),
      ),
    )
    const numbers = (await queue.peek()).map(({ sequenceNumber }) => sequenceNumber?.toNumber())
    expect(numbers).toEqual(Array.from({ length: 80 }, (_, index) => index + 1))
  })

  test('SET-20 a batch takes what the entity’s largest message is, and not more', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    const batch = await queue.sender.createMessageBatch()
    expect(batch.maxSizeInBytes).toBe(64 * KB)
    while (batch.tryAddMessage({ body: noise(5 * KB) }));
    expect(batch.count).toBe(12)
    await queue.sender.sendMessages(batch)
    expect(await queue.peek()).toHaveLength(12)
  })

  test('SET-20 the limit of an entity without one is a mebibyte', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect((await queue.sender.createMessageBatch()).maxSizeInBytes).toBe(KB * KB)
  })

  test('SET-20 a batch can be made smaller, and not larger', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    const batch = await queue.sender.createMessageBatch({ maxSizeInBytes: 2 * KB })
    expect(batch.tryAddMessage({ body: noise(3 * KB) })).toBe(false)
    const tooLarge = queue.sender.createMessageBatch({ maxSizeInBytes: 65 * KB })
    expect((await refusal(tooLarge)).message).toContain('greater than maximum message size')
  })

  test('SET-20 a message that is too large is refused, and nothing is stored', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    expect(await codeOf(queue.send({ body: noise(65 * KB) }))).toBe('MessageSizeExceeded')
    expect(await queue.peek()).toEqual([])
  })

  test('SET-20 the sender goes on after a message that was too large', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    expect(await codeOf(queue.send({ body: noise(100 * KB) }))).toBe('MessageSizeExceeded')
    await queue.send('a')
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SET-20 messages that fit no batch together are refused by the client itself', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    const half = { body: noise(40 * KB) }
    expect(await codeOf(queue.send(half, half))).toBe('MessageSizeExceeded')
    expect(await queue.peek()).toEqual([])
  })

  test('SET-20 a full entity refuses a message, and takes it when there is room', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxSizeInMegabytes: 1, maxMessageSizeInKilobytes: 1024 })
    await queue.send({ body: noise(900 * KB) })
    expect(await codeOf(queue.send({ body: noise(400 * KB) }))).toBe('QuotaExceeded')
    expect(await queue.peek()).toHaveLength(1)
    await queue.receiver.completeMessage(await queue.receiveOne())
    await queue.send({ body: noise(400 * KB) })
    expect(await queue.peek()).toHaveLength(1)
  })

  test('SET-20 of sends at once, those that are refused are told, and the others stored', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const body = `m${String(index).padStart(2, '0')}`
        const sent = queue.send(index % 2 === 0 ? { body, sessionId: 's' } : { body })
        return sent.then(
          () => body,
          () => 'refused',
        )
      }),
    )
    const stored = ends.filter((end) => end !== 'refused')
    expect(stored).toHaveLength(10)
    expect(sortedBodies(await queue.peek())).toEqual(stored)
  })

  test('SET-20 a batch that has no room as a whole leaves nothing behind', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxSizeInMegabytes: 1 })
    await queue.send({ body: noise(700 * KB) })
    const part = { body: noise(200 * KB) }
    expect(await codeOf(queue.send(part, part, part))).toBe('QuotaExceeded')
    expect(await queue.peek()).toHaveLength(1)
  })

  test('SET-20 a message of nearly a mebibyte arrives over many frames, unchanged', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const body = noise(1000 * KB)
    await queue.send({ body })
    const message = await receive(queue.open({ skipParsingBodyAsJson: true }), 1)
    expect(body.equals(only(message).body)).toBe(true)
  })

  test('SET-17 messages of a batch differ from each other as they were sent', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(
      { body: 'a', subject: 'first', applicationProperties: { n: 1 }, messageId: 'id-a' },
      { body: 'b', correlationId: 'c', applicationProperties: { m: true } },
      { body: 'c', timeToLive: 60_000 },
    )
    const seen = (await queue.peek()).map(
      ({ body, subject, messageId, correlationId, timeToLive }) => [
        String(body),
        subject,
        messageId === 'id-a',
        correlationId,
        timeToLive,
      ],
    )
    expect(seen).toEqual([
      ['a', 'first', true, undefined, undefined],
      ['b', undefined, false, 'c', undefined],
      ['c', undefined, false, undefined, 60_000],
    ])
    expect((await queue.peek()).map(({ applicationProperties }) => applicationProperties)).toEqual([
      { n: 1 },
      { m: true },
      undefined,
    ])
  })

  test('TOP-01 a batch to a topic reaches each of its subscriptions', async () => {
    await using space = await Namespace.open()
    const one = await space.subscription({}, 'one')
    const two = await space.subscription({}, 'two')
    const batch = await one.sender.createMessageBatch()
    for (const body of ['a', 'b', 'c']) expect(batch.tryAddMessage({ body })).toBe(true)
    await one.sender.sendMessages(batch)
    for (const entity of [one, two]) expect(bodies(await entity.peek())).toEqual(['a', 'b', 'c'])
  })

  test('SET-18 five hundred single sends without waiting arrive once each', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const sent = Array.from({ length: 500 }, (_, index) => `m${index}`)
    await Promise.all(sent.map((body) => queue.send(body)))
    expect(sortedBodies(await queue.peek())).toEqual(sent.toSorted())
  })

  test('SET-15 a send to an entity that does not exist is refused by name', async () => {
    await using space = await Namespace.open()
    const { code, message } = await refusal(space.entity('nowhere').send('a'))
    expect(code).toBe('MessagingEntityNotFound')
    expect(message).toContain('nowhere')
  })

  test('SET-15 names are compared without regard to case', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({}, 'Orders')
    await space.entity('ORDERS').send('a')
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SET-15 a queue that was deleted is not found by a sender that was open', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await space.broker.deleteQueue(queue.name)
    await expect.poll(() => codeOf(queue.send('b'))).toBe('MessagingEntityNotFound')
  })

  test('SET-15 nobody can send to a subscription or to a dead-letter queue', async () => {
    await using space = await Namespace.open()
    await space.queue()
    await space.subscription()
    for (const path of ['events/Subscriptions/billing', 'orders/$DeadLetterQueue']) {
      expect(await codeOf(space.entity(path).send('a')), path).not.toBe('ServiceTimeout')
    }
    expect(await space.entity('orders').places()).toEqual({ here: [], dead: [] })
  })

  test.each(['Disabled', 'SendDisabled'] as const)(
    'SET-15 a queue that is %s refuses messages',
    async (status) => {
      await using space = await Namespace.open()
      const queue = await space.queue({ status })
      expect(await codeOf(queue.send('a'))).toBe('MessagingEntityDisabled')
    },
  )

  test('SET-15 a queue that is disabled later refuses a sender that was open, and takes it back', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await space.broker.updateQueue(queue.name, { status: 'SendDisabled' })
    await expect
      .poll(() => codeOf(queue.send('b')).catch(() => 'sent'))
      .toBe('MessagingEntityDisabled')
    await space.broker.updateQueue(queue.name, { status: 'Active' })
    await queue.send('c')
    expect(bodies(await queue.peek()).at(-1)).toBe('c')
  })
})
