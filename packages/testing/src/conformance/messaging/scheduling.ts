import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type CaseParts } from './fixtures.ts'
import { bodies, receiveNow } from './tested-entity.ts'

/** Messages that are enqueued later. */
export function messagingScheduling({ open }: CaseParts): void {
  describe.each(BOTH)('scheduling to a %s', (kind) => {
    test('SCH-01 a scheduled message is enqueued at its time', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const at = new Date(space.startMs + 1500)
      await entity.send({ body: 'a', scheduledEnqueueTimeUtc: at })
      await space.at(700)
      expect(await entity.receive()).toEqual([])
      await space.at(1499)
      expect(await entity.receive()).toEqual([])
      await space.at(1500)
      expect((await entity.receiveOne()).enqueuedTimeUtc).toEqual(at)
    })

    test('SCH-01 its enqueued time is the scheduled one, however late somebody looks', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const at = new Date(space.startMs + 1500)
      await entity.send({ body: 'a', scheduledEnqueueTimeUtc: at })
      await space.at(60_000)
      expect((await entity.receiveOne()).enqueuedTimeUtc).toEqual(at)
    })

    test('SCH-02 its time to live counts from there', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 1500)
      await entity.send({ body: 'a', timeToLive: 1500, scheduledEnqueueTimeUtc })
      await space.at(2300)
      const message = await entity.receiveOne()
      expect(message.expiresAtUtc.getTime()).toBe(space.startMs + 3000)
    })

    test('SCH-02 it expires when nobody receives it', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { deadLetteringOnMessageExpiration: true })
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 900)
      await entity.send({ body: 'a', timeToLive: 900, scheduledEnqueueTimeUtc })
      await space.at(2500)
      expect(await entity.receive()).toEqual([])
      expect(bodies(await entity.dead())).toEqual(['a'])
    })

    test('SCH-03 by property and by call, alone and several at once', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const at = new Date(space.startMs + 1000)
      await entity.send({ body: 'one', scheduledEnqueueTimeUtc: at })
      await entity.send(
        { body: 'two', scheduledEnqueueTimeUtc: at },
        { body: 'three', scheduledEnqueueTimeUtc: at },
      )
      const alone = await entity.sender.scheduleMessages({ body: 'four' }, at)
      const many = await entity.sender.scheduleMessages([{ body: 'five' }, { body: 'six' }], at)
      expect([alone.length, many.length]).toEqual([1, 2])
      expect([...new Set([...alone, ...many])]).toEqual([...alone, ...many])
      if (kind === 'queue') {
        const peeked = (await entity.peek()).map(({ sequenceNumber }) => sequenceNumber)
        expect(peeked.slice(3)).toEqual([...alone, ...many])
      }
      expect(await entity.receive()).toEqual([])
      await space.at(1000)
      const received = bodies(await entity.receive())
      expect(received).toEqual(['one', 'two', 'three', 'four', 'five', 'six'])
    })

    test('SCH-04 a cancelled message never comes', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const at = new Date(space.startMs + 1000)
      const [, second] = await entity.sender.scheduleMessages([{ body: 'a' }, { body: 'b' }], at)
      await entity.sender.cancelScheduledMessages(Number(second))
      await space.at(1000)
      expect(bodies(await entity.receive())).toEqual(['a'])
    })

    test('SCH-04 once it is enqueued it cannot be cancelled', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const at = new Date(space.startMs + 1000)
      const [number] = await entity.sender.scheduleMessages({ body: 'a' }, at)
      await space.at(1000)
      const cancel = entity.sender.cancelScheduledMessages(Number(number))
      expect(await rejection(cancel)).toBe('ERR_MESSAGE_NOT_FOUND')
      expect(bodies(await entity.receive())).toEqual(['a'])
    })

    test('SCH-06 a time that has passed means now', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const scheduledEnqueueTimeUtc = new Date(space.startMs - 5000)
      await entity.send({ body: 'a', scheduledEnqueueTimeUtc })
      await entity.sender.scheduleMessages({ body: 'b' }, scheduledEnqueueTimeUtc)
      const messages = await entity.receive()
      expect(bodies(messages)).toEqual(['a', 'b'])
      for (const { enqueuedTimeUtc, state } of messages) {
        expect([enqueuedTimeUtc.getTime(), state]).toEqual([space.startMs, 'active'])
      }
    })

    test('SCH-07 it does not expire while it is scheduled, and comes to who waits', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { deadLetteringOnMessageExpiration: true })
      const waiting = entity.receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 })
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 1800)
      await entity.send({ body: 'a', timeToLive: 700, scheduledEnqueueTimeUtc })
      await space.at(1799)
      await space.at(1800)
      expect(bodies(await waiting)).toEqual(['a'])
      expect(await entity.dead()).toEqual([])
    })

    test('SCH-08 the ceiling counts from the scheduled time', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { defaultMessageTimeToLive: 2000 })
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 1000)
      await entity.send({ body: 'a', timeToLive: 3_600_000, scheduledEnqueueTimeUtc })
      await space.at(1000)
      const { timeToLive, expiresAtUtc } = await entity.receiveOne()
      expect([timeToLive, expiresAtUtc.getTime()]).toEqual([2000, space.startMs + 3000])
    })
  })

  describe('scheduling', () => {
    test('SCH-04 a cancelled message is deleted, and the others stay', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const at = new Date(space.startMs + 1000)
      const [first, second] = await queue.sender.scheduleMessages(
        [{ body: 'a' }, { body: 'b' }],
        at,
      )
      await queue.sender.cancelScheduledMessages(Number(second))
      expect(bodies(await queue.peek())).toEqual(['a'])
      const { sender } = queue
      const cancel = sender.cancelScheduledMessages([Number(first), Number(second)])
      expect(await rejection(cancel)).toBe('ERR_MESSAGE_NOT_FOUND')
      expect(bodies(await queue.peek())).toEqual(['a'])
    })

    test('SCH-04 several are cancelled at once, those of an ordinary send too', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 1000)
      await queue.send({ body: 'a', scheduledEnqueueTimeUtc })
      await queue.sender.scheduleMessages({ body: 'b' }, scheduledEnqueueTimeUtc)
      const numbers = (await queue.peek()).map(({ sequenceNumber }) => sequenceNumber)
      await queue.sender.cancelScheduledMessages(numbers)
      expect(await queue.peek()).toEqual([])
    })

    test('SCH-03 a message of a session can be scheduled', async () => {
      const space = await open()
      const queue = await space.queue('q', { requiresSession: true })
      const at = new Date(space.startMs + 1000)
      await queue.sender.scheduleMessages({ body: 'a', sessionId: 'A' }, at)
      await space.at(1000)
      expect(bodies(await receiveNow(await queue.accept('A')))).toEqual(['a'])
    })

    test('SCH-05 it is peeked as scheduled, and gets a number behind what was sent meanwhile', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 1000)
      await queue.send({ body: 'A', scheduledEnqueueTimeUtc })
      await queue.send('B')
      const states = (await queue.peek()).map(({ body, state }) => [body, state])
      expect(states).toEqual([
        ['A', 'scheduled'],
        ['B', 'active'],
      ])
      expect((await queue.peek())[0]).toMatchObject({ scheduledEnqueueTimeUtc })
      const before = (await queue.peek()).map(({ sequenceNumber }) => sequenceNumber)
      await space.at(1700)
      const received = await queue.receive()
      expect(bodies(received)).toEqual(['B', 'A'])
      const [b, a] = received
      expect(a?.sequenceNumber).toBeGreaterThan(b?.sequenceNumber ?? Infinity)
      expect(before).not.toContain(a?.sequenceNumber)
      expect(a?.state).toBe('active')
    })

    test('SCH-05 messages of one time come in the order in which they were scheduled', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const at = (ms: number) => new Date(space.startMs + ms)
      await queue.sender.scheduleMessages({ body: 'late' }, at(900))
      await queue.sender.scheduleMessages([{ body: 'a' }, { body: 'b' }], at(500))
      await queue.sender.scheduleMessages({ body: 'c' }, at(500))
      await space.at(2000)
      expect(bodies(await queue.receive())).toEqual(['a', 'b', 'c', 'late'])
    })

    test('SCH-09 to a topic: the subscription is empty before, and has its copy at the time', async () => {
      const space = await open()
      const topic = await space.topic('t')
      const first = await space.subscription('t', 'first')
      await topic.sender.scheduleMessages({ body: 'a' }, new Date(space.startMs + 1000))
      await space.at(500)
      expect(await first.peek()).toEqual([])
      // Rules are judged when it is enqueued.
      const second = await space.subscription('t', 'second')
      await space.at(1000)
      expect(bodies(await first.peek())).toEqual(['a'])
      expect(bodies(await second.peek())).toEqual(['a'])
      expect((await first.peekOne()).enqueuedTimeUtc.getTime()).toBe(space.startMs + 1000)
    })

    test('SCH-09 who waits at a subscription gets it at the time', async () => {
      const space = await open()
      const topic = await space.topic('t')
      const copy = await space.subscription('t', 's')
      const waiting = copy.receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 })
      await topic.sender.scheduleMessages({ body: 'a' }, new Date(space.startMs + 1000))
      await space.at(1000)
      expect(bodies(await waiting)).toEqual(['a'])
    })
  })
}
