import { describe, expect, test } from 'vitest'
import {
  bodies,
  enqueuedOf,
  expiryOf,
  numberOf,
  only,
  receive,
  receiveNow,
  receiveOne,
  sortedBodies,
} from './client-entity.ts'
import { Namespace } from './interop-amqp.fixture.ts'

const BOTH = ['queue', 'subscription'] as const
const MODES = ['peekLock', 'receiveAndDelete'] as const
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const DEAD = { deadLetteringOnMessageExpiration: true }

describe('Expiry', () => {
  test.each(BOTH)(
    'EXP-01 the expiry is the enqueued time plus the time to live (%s)',
    async (kind) => {
      await using space = await Namespace.open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', timeToLive: MINUTE_MS })
      const peeked = await entity.peekOne()
      const received = await entity.receiveOne()
      for (const message of [peeked, received]) {
        expect(message.timeToLive).toBe(MINUTE_MS)
        expect(expiryOf(message)).toBe(enqueuedOf(message) + MINUTE_MS)
      }
      expect(expiryOf(received)).toBe(expiryOf(peeked))
    },
  )

  test('EXP-01 the expiry does not move when a message comes again', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', timeToLive: HOUR_MS })
    const first = await queue.receiveOne()
    space.clock.jump(MINUTE_MS / 2)
    await queue.receiver.abandonMessage(first)
    expect(expiryOf(await queue.receiveOne())).toBe(expiryOf(first))
  })

  test.each(MODES)('EXP-02 an expired message is not delivered (%s)', async (receiveMode) => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(MINUTE_MS)
    expect(await receiveNow(queue.open({ receiveMode }))).toEqual([])
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test.each(BOTH)('EXP-03 expired messages are skipped wherever they are (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind, DEAD)
    const short = { timeToLive: MINUTE_MS }
    await entity.send('a', { body: 'x1', ...short }, 'b', { body: 'x2', ...short }, 'c')
    space.clock.jump(MINUTE_MS)
    expect(bodies(await entity.receive(3))).toEqual(['a', 'b', 'c'])
    expect(bodies(await entity.peekDead())).toEqual(['x1', 'x2'])
  })

  test.each(BOTH)('EXP-04 without a listener an expired message stays (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind, DEAD)
    await entity.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    expect(await entity.places()).toEqual({ here: ['a'], dead: [] })
    expect(expiryOf(await entity.peekOne())).toBeLessThan(space.clock.wallMs())
    expect(await entity.receiveNow()).toEqual([])
    expect(await entity.places()).toEqual({ here: [], dead: ['a'] })
  })

  test('EXP-04 a listener that comes is enough, and needs not ask for messages', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    const subscription = queue.receiver.subscribe({
      processMessage: async () => {},
      processError: async () => {},
    })
    await queue.settlesAt({ here: [], dead: ['a'] })
    await subscription.close()
  })

  test('EXP-26 senders, peeks, rules and receivers of dead letters are no listeners', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription(DEAD)
    await entity.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    await entity.send('b')
    await entity.rules.createRule('more', { sqlExpression: '1 = 1' })
    expect(await receiveNow(entity.openDead())).toEqual([])
    expect(await entity.places()).toEqual({ here: ['a', 'b'], dead: [] })
  })

  test('EXP-26 a receiver that has no credit is a listener', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    expect(await queue.receiveNow()).toEqual([])
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    await queue.settlesAt({ here: [], dead: ['a'] })
  })

  test('EXP-26 a receiver that was closed is none any more', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    const receiver = queue.open()
    await receiveNow(receiver)
    await receiver.close()
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    expect(await queue.places()).toEqual({ here: ['a'], dead: [] })
  })

  test('EXP-27 while a receiver waits, a message leaves when its time has come', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const holder = await queue.receiveOne()
    const other = queue.through(space.connect())
    const waiting = other.receiver.receiveMessages(1, { maxWaitTimeInMs: 3000 })
    await queue.send({ body: 'b', timeToLive: HOUR_MS })
    expect(bodies(await waiting)).toEqual(['b'])
    await queue.receiver.completeMessage(holder)
    await queue.send({ body: 'c', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    await queue.settlesAt({ here: ['b'], dead: ['c'] })
  })

  test.each(BOTH)('EXP-05 expiry does not touch a locked message (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind, { ...DEAD, lockDuration: 'PT5M' })
    await entity.send({ body: 'a', timeToLive: MINUTE_MS })
    const message = await entity.receiveOne()
    space.clock.jump(2 * MINUTE_MS)
    expect(await entity.places()).toEqual({ here: ['a'], dead: [] })
    await entity.receiver.completeMessage(message)
    expect(await entity.places()).toEqual({ here: [], dead: [] })
  })

  test('EXP-06 when the lock times out after the expiry, the message leaves', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT2M' })
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    await queue.receiveOne()
    space.clock.jump(90_000)
    expect(await queue.peekDead()).toEqual([])
    space.clock.jump(40_000)
    await queue.settlesAt({ here: [], dead: ['a'] })
    expect(await queue.receiveNow()).toEqual([])
  })

  test('EXP-06 it leaves, too, when its consumer’s connection has gone', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT2M' })
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const client = space.connect()
    await queue.through(client).receiveOne()
    await client.close()
    space.clock.jump(130_000)
    await queue.settlesAt({ here: [], dead: ['a'] })
  })

  test.each([true, false])(
    'EXP-07 abandoning after the expiry lets it leave (dead-lettering: %s)',
    async (isKept) => {
      await using space = await Namespace.open()
      const queue = await space.queue({
        deadLetteringOnMessageExpiration: isKept,
        lockDuration: 'PT5M',
      })
      await queue.send({ body: 'a', timeToLive: MINUTE_MS })
      const message = await queue.receiveOne()
      space.clock.jump(2 * MINUTE_MS)
      await queue.receiver.abandonMessage(message)
      await queue.settlesAt({ here: [], dead: isKept ? ['a'] : [] })
    },
  )

  test('EXP-08 the holder of an expired message can renew and complete', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT2M' })
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const message = await queue.receiveOne()
    for (let renewal = 0; renewal < 3; renewal += 1) {
      space.clock.jump(90_000)
      await queue.receiver.renewMessageLock(message)
    }
    await queue.receiver.completeMessage(message)
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('EXP-08 the holder of an expired message can defer it', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT5M' })
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const message = await queue.receiveOne()
    space.clock.jump(2 * MINUTE_MS)
    await queue.receiver.deferMessage(message)
    const deferred = await queue.receiver.receiveDeferredMessages(numberOf(message))
    expect(bodies(deferred)).toEqual(['a'])
  })

  test('EXP-09 a message without a time to live has the entity’s', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ defaultMessageTimeToLive: 'PT1M' })
    await queue.send('a')
    expect((await queue.peekOne()).timeToLive).toBe(MINUTE_MS)
    space.clock.jump(MINUTE_MS)
    expect(await queue.receiveNow()).toEqual([])
  })

  test.each(BOTH)('EXP-10 a longer time to live is cut to the entity’s (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind, { defaultMessageTimeToLive: 'PT1M' })
    await entity.send({ body: 'a', timeToLive: HOUR_MS })
    const message = await entity.receiveOne()
    expect(message.timeToLive).toBe(MINUTE_MS)
    expect(expiryOf(message)).toBe(enqueuedOf(message) + MINUTE_MS)
  })

  test('EXP-11 a shorter time to live stays as it was sent', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ defaultMessageTimeToLive: 'PT1H' })
    await queue.send({ body: 'a', timeToLive: 90_001 })
    expect((await queue.peekOne()).timeToLive).toBe(90_001)
  })

  test('EXP-12 without any time to live a message never expires', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    expect(message.timeToLive).toBeUndefined()
    expect(message.expiresAtUtc?.getUTCFullYear()).toBeGreaterThan(9000)
  })

  test('EXP-13 the topic’s time to live applies when it is smaller', async () => {
    await using space = await Namespace.open()
    await space.topic({ defaultMessageTimeToLive: 'PT1M' })
    const billing = await space.subscription({ defaultMessageTimeToLive: 'PT1H' })
    await billing.send('a')
    expect((await billing.peekOne()).timeToLive).toBe(MINUTE_MS)
    space.clock.jump(MINUTE_MS)
    expect(await billing.receiveNow()).toEqual([])
  })

  test('EXP-14 a subscription’s time to live is the ceiling of its own copies only', async () => {
    await using space = await Namespace.open()
    const short = await space.subscription({ defaultMessageTimeToLive: 'PT1M' }, 'short')
    const long = await space.subscription({ defaultMessageTimeToLive: 'PT2H' }, 'long')
    await short.send({ body: 'a', timeToLive: HOUR_MS })
    expect((await short.peekOne()).timeToLive).toBe(MINUTE_MS)
    expect((await long.peekOne()).timeToLive).toBe(HOUR_MS)
    space.clock.jump(MINUTE_MS)
    expect(await short.receiveNow()).toEqual([])
    expect(bodies(await long.receive(1))).toEqual(['a'])
  })

  test('EXP-15 each subscription decides whether expired messages are kept', async () => {
    await using space = await Namespace.open()
    const kept = await space.subscription(DEAD, 'kept')
    const dropped = await space.subscription({}, 'dropped')
    await kept.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(MINUTE_MS)
    for (const entity of [kept, dropped]) expect(await entity.receiveNow()).toEqual([])
    expect(await kept.places()).toEqual({ here: [], dead: ['a'] })
    expect(await dropped.places()).toEqual({ here: [], dead: [] })
  })

  test('EXP-16 an expired message in the dead-letter queue says why, and is else unchanged', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send({
      body: { a: 1 },
      messageId: 'm',
      correlationId: 'c',
      timeToLive: MINUTE_MS,
      applicationProperties: { n: 1 },
    })
    const before = await queue.peekOne()
    space.clock.jump(MINUTE_MS)
    expect(await queue.receiveNow()).toEqual([])
    const dead = await receiveOne(queue.openDead())
    expect(dead).toMatchObject({
      body: { a: 1 },
      messageId: 'm',
      correlationId: 'c',
      deadLetterReason: 'TTLExpiredException',
      deadLetterErrorDescription: 'The message expired and was dead lettered.',
    })
    expect(dead.applicationProperties).toMatchObject({
      n: 1,
      DeadLetterReason: 'TTLExpiredException',
    })
    // EXP-30: it keeps its times.
    expect([enqueuedOf(dead), expiryOf(dead), dead.timeToLive]).toEqual([
      enqueuedOf(before),
      expiryOf(before),
      MINUTE_MS,
    ])
  })

  test('EXP-30 an expired message keeps its times and its id in the dead-letter queue', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send('a', 'b', { body: 'c', timeToLive: MINUTE_MS, messageId: 'c' })
    const before = (await queue.peek())[2]
    space.clock.jump(MINUTE_MS)
    await queue.receive(2)
    const dead = only(await queue.peekDead())
    expect(dead.messageId).toBe('c')
    expect(dead.expiresAtUtc).toEqual(before?.expiresAtUtc)
    expect(dead.enqueuedTimeUtc).toEqual(before?.enqueuedTimeUtc)
    expect(dead.sequenceNumber?.toNumber()).toBe(1)
  })

  test('EXP-17 an expired message that is dead-lettered by hand keeps its reason', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT5M' })
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const message = await queue.receiveOne()
    space.clock.jump(2 * MINUTE_MS)
    await queue.receiver.deadLetterMessage(message, {
      deadLetterReason: 'mine',
      deadLetterErrorDescription: 'by hand',
    })
    expect(only(await queue.peekDead()).deadLetterReason).toBe('mine')
  })

  test('EXP-18 with many listeners each expired message is dead-lettered once', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    const sent = Array.from({ length: 40 }, (_, index) => `m${index}`)
    await queue.send(...sent.map((body) => ({ body, timeToLive: MINUTE_MS })))
    space.clock.jump(MINUTE_MS)
    const listeners = Array.from({ length: 6 }, () => queue.through(space.connect()))
    const received = await Promise.all(listeners.map((listener) => listener.receiveNow()))
    expect(received.flat()).toEqual([])
    expect(await queue.peek()).toEqual([])
    expect(sortedBodies(await queue.peekDead())).toEqual(sent.toSorted())
  })

  test('EXP-19 a waiting receiver gets messages that live for moments only', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', timeToLive: 5000 })
    const message = await queue.receiveOne()
    expect(expiryOf(message) - enqueuedOf(message)).toBe(5000)
  })

  test('EXP-19 times to live are kept to the millisecond', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...[1, 250, 999, 1001].map((timeToLive) => ({ body: timeToLive, timeToLive })))
    const shown = (await queue.peek()).map((message) => [
      message.timeToLive,
      expiryOf(message) - enqueuedOf(message),
    ])
    expect(shown).toEqual([1, 250, 999, 1001].map((ms) => [ms, ms]))
  })

  test('EXP-20 messages of a dead-letter queue do not expire', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    await queue.receiver.deadLetterMessage(await queue.receiveOne())
    space.clock.jump(HOUR_MS / 2)
    expect(bodies(await receive(queue.openDead(), 1))).toEqual(['a'])
  })

  test('EXP-21 deferred messages do not expire', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    space.clock.jump(2 * MINUTE_MS)
    expect(await queue.receiveNow()).toEqual([])
    expect(await queue.peekDead()).toEqual([])
    const deferred = await queue.receiver.receiveDeferredMessages(numberOf(message))
    expect(bodies(deferred)).toEqual(['a'])
  })

  test('EXP-22 a new default leaves alone what is there', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ defaultMessageTimeToLive: 'PT1H' })
    await queue.send('a')
    const before = await queue.peekOne()
    await space.broker.updateQueue(queue.name, { defaultMessageTimeToLive: 'PT1M' })
    await queue.send('b')
    const [a, b] = await queue.peek()
    expect([a?.timeToLive, b?.timeToLive]).toEqual([HOUR_MS, MINUTE_MS])
    expect(a?.expiresAtUtc).toEqual(before.expiresAtUtc)
  })

  test('EXP-23 in a Basic namespace the default and the ceiling are fourteen days', async () => {
    await using space = await Namespace.open({ tier: 'Basic' })
    const queue = await space.queue()
    await queue.send('a', { body: 'b', timeToLive: 30 * DAY_MS }, { body: 'c', timeToLive: DAY_MS })
    const shown = (await queue.peek()).map(({ timeToLive }) => timeToLive)
    expect(shown).toEqual([14 * DAY_MS, 14 * DAY_MS, DAY_MS])
  })

  test('EXP-24 each message of a batch keeps its own time to live', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(
      { body: 'a', timeToLive: MINUTE_MS },
      { body: 'b', timeToLive: HOUR_MS },
      { body: 'c' },
    )
    expect((await queue.peek()).map(({ timeToLive }) => timeToLive)).toEqual([
      MINUTE_MS,
      HOUR_MS,
      undefined,
    ])
    space.clock.jump(MINUTE_MS)
    expect(bodies(await queue.receive(2))).toEqual(['b', 'c'])
  })

  test('EXP-25 times to live above 2^32 ms are kept and shown exactly', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ defaultMessageTimeToLive: 'P100D' })
    await queue.send('a')
    for (const message of [await queue.peekOne(), await queue.receiveOne()]) {
      expect(message.timeToLive).toBe(8_640_000_000)
      expect(expiryOf(message)).toBe(enqueuedOf(message) + 8_640_000_000)
    }
  })

  test('EXP-25 what the client can say at most is 2^32 ms less one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', timeToLive: 100 * DAY_MS })
    const message = await queue.peekOne()
    expect(message.timeToLive).toBe(2 ** 32 - 1)
    expect(expiryOf(message)).toBe(enqueuedOf(message) + 2 ** 32 - 1)
  })

  test('EXP-28 what has expired and was delivered too often counts as expired', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, maxDeliveryCount: 1, lockDuration: 'PT5M' })
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    const message = await queue.receiveOne()
    space.clock.jump(2 * MINUTE_MS)
    await queue.receiver.abandonMessage(message)
    await queue.settlesAt({ here: [], dead: ['a'] })
    expect(only(await queue.peekDead()).deadLetterReason).toBe('TTLExpiredException')
  })

  test('EXP-31 a forwarded message keeps its time to live, counted from its new place', async () => {
    await using space = await Namespace.open()
    const target = await space.queue({}, 'target')
    const source = await space.queue({ forwardTo: 'target', defaultMessageTimeToLive: 'PT1M' })
    await source.send({ body: 'a', timeToLive: HOUR_MS })
    const message = await target.receiveOne()
    expect(message.timeToLive).toBe(MINUTE_MS)
    expect(expiryOf(message)).toBe(enqueuedOf(message) + MINUTE_MS)
  })
})
