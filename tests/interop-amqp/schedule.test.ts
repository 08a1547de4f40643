import Long from 'long'
import { describe, expect, test } from 'vitest'
import { bodies, enqueuedOf, expiryOf, numberOf, only, fieldsOf } from './client-entity.ts'
import { codeOf, Namespace } from './interop-amqp.fixture.ts'

const BOTH = ['queue', 'subscription'] as const
const MINUTE_MS = 60_000

describe('Scheduling', () => {
  test.each(BOTH)('SCH-01 a scheduled message is enqueued at its time (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    const at = space.in(MINUTE_MS)
    await entity.sender.scheduleMessages({ body: 'a' }, at)
    expect(await entity.receiveNow()).toEqual([])
    space.clock.jump(MINUTE_MS)
    const message = await entity.receiveOne()
    expect(message.body).toBe('a')
    expect(message.enqueuedTimeUtc).toEqual(at)
    expect(message.state).toBe('active')
  })

  test('SCH-02 its time to live counts from its time', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const at = space.in(MINUTE_MS)
    await queue.sender.scheduleMessages({ body: 'a', timeToLive: 2 * MINUTE_MS }, at)
    space.clock.jump(2 * MINUTE_MS)
    const message = await queue.receiveOne()
    expect(enqueuedOf(message)).toBe(at.getTime())
    expect(expiryOf(message)).toBe(at.getTime() + 2 * MINUTE_MS)
  })

  test('SCH-02 it expires when that is over', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.sender.scheduleMessages({ body: 'a', timeToLive: MINUTE_MS }, space.in(MINUTE_MS))
    space.clock.jump(3 * MINUTE_MS)
    expect(await queue.receiveNow()).toEqual([])
    expect(await queue.peek()).toEqual([])
  })

  test('SCH-03 an ordinary send with a time schedules, alone and in a batch', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const scheduledEnqueueTimeUtc = space.in(MINUTE_MS)
    await queue.send({ body: 'a', scheduledEnqueueTimeUtc })
    await queue.send({ body: 'b', scheduledEnqueueTimeUtc }, 'c')
    expect(fieldsOf(await queue.peek(), 'body', 'state')).toEqual([
      ['a', 'scheduled'],
      ['b', 'scheduled'],
      ['c', 'active'],
    ])
    const [c] = await queue.receiveNow()
    expect(c?.body).toBe('c')
    if (c !== undefined) await queue.receiver.completeMessage(c)
    space.clock.jump(MINUTE_MS)
    expect(bodies(await queue.receive(2))).toEqual(['a', 'b'])
  })

  test('SCH-03 the schedule call says the numbers of all messages', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const messages = ['a', 'b', 'c'].map((body) => ({ body }))
    const numbers = await queue.sender.scheduleMessages(messages, space.in(MINUTE_MS))
    expect(numbers.every((number) => Long.isLong(number))).toBe(true)
    const peeked = await queue.peek()
    expect(peeked.map((message) => numberOf(message).toString())).toEqual(numbers.map(String))
    expect(bodies(peeked)).toEqual(['a', 'b', 'c'])
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
    await queue.sender.scheduleMessages(message, space.in(MINUTE_MS))
    expect(await queue.peekOne()).toMatchObject(message)
    space.clock.jump(MINUTE_MS)
    expect(await queue.receiveOne()).toMatchObject(message)
  })

  test('SCH-04 a scheduled message can be cancelled', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const at = space.in(MINUTE_MS)
    const [first] = await queue.sender.scheduleMessages([{ body: 'a' }, { body: 'b' }], at)
    await queue.sender.cancelScheduledMessages(first ?? [])
    expect(bodies(await queue.peek())).toEqual(['b'])
    space.clock.jump(MINUTE_MS)
    expect(bodies(await queue.receive(1))).toEqual(['b'])
    expect(await queue.receiveNow()).toEqual([])
  })

  test('SCH-04 several can be cancelled at once, also those of an ordinary send', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const scheduledEnqueueTimeUtc = space.in(MINUTE_MS)
    await queue.send(...['a', 'b', 'c'].map((body) => ({ body, scheduledEnqueueTimeUtc })))
    await queue.sender.cancelScheduledMessages((await queue.peek()).map(numberOf))
    expect(await queue.peek()).toEqual([])
  })

  test('SCH-04 an unknown number cannot be cancelled', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const call = queue.sender.cancelScheduledMessages(Long.fromNumber(77))
    expect(await codeOf(call)).toBe('MessageNotFound')
  })

  test('SCH-04 a message whose time has come cannot be cancelled', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const numbers = await queue.sender.scheduleMessages({ body: 'a' }, space.in(MINUTE_MS))
    space.clock.jump(MINUTE_MS)
    const message = await queue.receiveOne()
    await queue.receiver.abandonMessage(message)
    expect(await codeOf(queue.sender.cancelScheduledMessages(numbers))).toBe('MessageNotFound')
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SCH-05 it gets a new number when its time comes, behind what was sent meanwhile', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.sender.scheduleMessages({ body: 'a' }, space.in(MINUTE_MS))
    expect((await queue.peekOne()).state).toBe('scheduled')
    await queue.send('b')
    space.clock.jump(MINUTE_MS)
    const [b, a] = await queue.receive(2)
    expect([b?.body, a?.body]).toEqual(['b', 'a'])
    expect(a?.sequenceNumber?.greaterThan(b?.sequenceNumber ?? Long.MAX_VALUE)).toBe(true)
  })

  test('SCH-05 a peek shows when a message is due', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const at = space.in(MINUTE_MS)
    await queue.sender.scheduleMessages({ body: 'a' }, at)
    expect((await queue.peekOne()).scheduledEnqueueTimeUtc).toEqual(at)
  })

  test('SCH-06 a time that has passed means now', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', scheduledEnqueueTimeUtc: space.in(-5000) })
    await queue.sender.scheduleMessages({ body: 'b' }, space.in(-5000))
    expect(bodies(await queue.receive(2))).toEqual(['a', 'b'])
  })

  test('SCH-07 a message does not expire while it is scheduled', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.receiveNow()
    const at = space.in(10 * MINUTE_MS)
    await queue.sender.scheduleMessages({ body: 'a', timeToLive: MINUTE_MS }, at)
    const waiting = queue.receive(1)
    space.clock.jump(5 * MINUTE_MS)
    expect(bodies(await queue.peek())).toEqual(['a'])
    space.clock.jump(5 * MINUTE_MS)
    expect(bodies(await waiting)).toEqual(['a'])
  })

  test('SCH-08 the entity’s ceiling applies, counted from its time', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ defaultMessageTimeToLive: 'PT5M' })
    const at = space.in(MINUTE_MS)
    await queue.sender.scheduleMessages({ body: 'a', timeToLive: 3_600_000 }, at)
    space.clock.jump(MINUTE_MS)
    const message = await queue.receiveOne()
    expect(message.timeToLive).toBe(5 * MINUTE_MS)
    expect(expiryOf(message)).toBe(at.getTime() + 5 * MINUTE_MS)
  })

  test('SCH-09 what is scheduled to a topic reaches the subscriptions at its time', async () => {
    await using space = await Namespace.open()
    const billing = await space.subscription()
    const at = space.in(MINUTE_MS)
    await billing.sender.scheduleMessages({ body: 'a' }, at)
    expect(await billing.peek()).toEqual([])
    space.clock.jump(MINUTE_MS)
    const message = only(await billing.receive(1))
    expect([message.body, enqueuedOf(message)]).toEqual(['a', at.getTime()])
  })

  test('SCH-04 what is scheduled to a topic can be cancelled', async () => {
    await using space = await Namespace.open()
    const billing = await space.subscription()
    const numbers = await billing.sender.scheduleMessages({ body: 'a' }, space.in(MINUTE_MS))
    await billing.sender.cancelScheduledMessages(numbers)
    space.clock.jump(MINUTE_MS)
    expect(await billing.receiveNow()).toEqual([])
  })

  test('SCH-03 a session message can be scheduled', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    await queue.sender.scheduleMessages({ body: 'a', sessionId: 's' }, space.in(MINUTE_MS))
    space.clock.jump(MINUTE_MS)
    const session = await queue.accept('s')
    expect(bodies(await session.receiveMessages(1, { maxWaitTimeInMs: 30_000 }))).toEqual(['a'])
  })

  test('SCH-03 scheduling to what does not exist is refused by name', async () => {
    await using space = await Namespace.open()
    const { sender } = space.entity('nowhere')
    const call = sender.scheduleMessages({ body: 'a' }, space.in(MINUTE_MS))
    expect(await codeOf(call)).toBe('MessagingEntityNotFound')
  })
})
