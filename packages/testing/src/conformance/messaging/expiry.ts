import { describe, expect, test } from 'vitest'
import { BOTH, DAY_MS, type CaseParts } from './fixtures.ts'
import { bodies, sortedBodies } from './tested-entity.ts'

const DEAD_LETTERING = { deadLetteringOnMessageExpiration: true }
const HOUR_MS = 3_600_000
/** The last instant of the year 9000. */
const YEAR_9000_MS = Date.UTC(9001, 0, 1) - 1

/** When messages expire, and what becomes of them. */
export function messagingExpiry({ open, isByClient }: CaseParts): void {
  describe.each(BOTH)('expiry in a %s', (kind) => {
    test('EXP-01 the expiry is the enqueued time plus the time to live, and stays', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', timeToLive: 60_000 })
      const peeked = await entity.peekOne()
      expect(peeked.enqueuedTimeUtc.getTime()).toBe(space.startMs)
      await space.at(400)
      const received = await entity.receiveOne()
      for (const { timeToLive, expiresAtUtc, enqueuedTimeUtc } of [peeked, received]) {
        expect(timeToLive).toBe(60_000)
        expect(enqueuedTimeUtc).toEqual(peeked.enqueuedTimeUtc)
        expect(expiresAtUtc.getTime()).toBe(space.startMs + 60_000)
      }
      await entity.receiver.abandonMessage(received)
      await space.at(900)
      expect((await entity.receiveOne()).expiresAtUtc).toEqual(peeked.expiresAtUtc)
    })

    test.each(['peekLock', 'receiveAndDelete'] as const)(
      'EXP-02 an expired message is not delivered (%s)',
      async (receiveMode) => {
        const space = await open()
        const entity = await space.receiving(kind)
        await entity.send({ body: 'a', timeToLive: 1000 })
        await space.at(1700)
        await using receiver = entity.attach({ receiveMode })
        expect(await receiver.receiveMessages(5, { maxWaitTimeInMs: 0 })).toEqual([])
        expect(await entity.places()).toEqual({ here: [], dead: [] })
      },
    )

    test('EXP-02 EXP-19 it is delivered one millisecond before its expiry, and not at it', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      for (const [body, timeToLive] of [
        ['a', 1000],
        ['b', 1001],
      ] as const) {
        await entity.send({ body, timeToLive })
      }
      await space.at(1000)
      expect(bodies(await entity.receive())).toEqual(['b'])
    })

    test('EXP-03 expired messages are skipped wherever they are, the rest keep their order', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send(
        'a',
        { body: 'x1', timeToLive: 900 },
        'b',
        { body: 'x2', timeToLive: 900 },
        'c',
      )
      await space.at(1600)
      expect(bodies(await entity.receive())).toEqual(['a', 'b', 'c'])
      expect(bodies(await entity.dead())).toEqual(['x1', 'x2'])
    })

    test('EXP-04 without a listener an expired message stays; the first one makes it leave', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(2200)
      expect(await entity.dead()).toEqual([])
      const { body, expiresAtUtc } = await entity.peekOne()
      expect([body, expiresAtUtc.getTime()]).toEqual(['a', space.startMs + 900])
      expect(await entity.receive()).toEqual([])
      expect(await entity.places()).toEqual({ here: [], dead: ['a'] })
    })

    test('EXP-05 EXP-17 expiry does not touch a locked message', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(100)
      const message = await entity.receiveOne()
      await space.at(1600)
      expect(await entity.places()).toEqual({ here: ['a'], dead: [] })
      await entity.receiver.completeMessage(message)
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test.each(['stays', 'is gone'])(
      'EXP-06 when the lock times out after the expiry, the message leaves (the consumer %s)',
      async (consumer) => {
        const space = await open()
        const entity = await space.receiving(kind, { ...DEAD_LETTERING, lockDuration: 2000 })
        await entity.send({ body: 'a', timeToLive: 1000 })
        await entity.receiveOne()
        if (consumer === 'is gone') await entity.detach()
        await space.at(1500)
        expect(await entity.dead()).toEqual([])
        await space.at(2700)
        expect(bodies(await entity.dead())).toEqual(['a'])
        expect(await entity.receive()).toEqual([])
      },
    )

    test('EXP-06 without dead-lettering it is gone, and nobody has to look', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { lockDuration: 2000 })
      await entity.send({ body: 'a', timeToLive: 1000 })
      await entity.receiveOne()
      await entity.detach()
      await space.at(2700)
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test.each([true, false])(
      'EXP-07 abandoned after its expiry it leaves at once (dead-lettering: %s)',
      async (deadLetteringOnMessageExpiration) => {
        const space = await open()
        const entity = await space.receiving(kind, { deadLetteringOnMessageExpiration })
        await entity.send({ body: 'a', timeToLive: 900 })
        const message = await entity.receiveOne()
        await space.at(1600)
        await entity.receiver.abandonMessage(message)
        const dead = deadLetteringOnMessageExpiration ? ['a'] : []
        expect(await entity.places()).toEqual({ here: [], dead })
        expect(await entity.receive()).toEqual([])
      },
    )

    test('EXP-08 the holder of the lock may renew it and complete', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { ...DEAD_LETTERING, lockDuration: 2000 })
      await entity.send({ body: 'a', timeToLive: 900 })
      const message = await entity.receiveOne()
      for (const ms of [1300, 2600]) {
        await space.at(ms)
        const lockedUntil = await entity.receiver.renewMessageLock(message)
        expect(lockedUntil.getTime()).toBe(space.startMs + ms + 2000)
      }
      await entity.receiver.completeMessage(message)
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('EXP-08 EXP-17 the holder may defer and dead-letter an expired message', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 }, { body: 'b', timeToLive: 900 })
      const [a, b] = await entity.receive()
      await space.at(1600)
      if (a === undefined || b === undefined) throw new Error('two were sent')
      await entity.receiver.deferMessage(a)
      await entity.receiver.deadLetterMessage(b, { deadLetterReason: 'mine' })
      expect(await entity.places()).toEqual({ here: ['a'], dead: ['b'] })
      expect((await entity.deadOne()).deadLetterReason).toBe('mine')
    })

    test('EXP-09 EXP-10 EXP-11 the default is used, and is a ceiling, and leaves less alone', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { defaultMessageTimeToLive: 2000 })
      await entity.send('none', { body: 'hour', timeToLive: HOUR_MS })
      await entity.send({ body: 'less', timeToLive: 1500 })
      const shown = (await entity.peek()).map(({ timeToLive }) => timeToLive)
      expect(shown).toEqual([2000, 2000, 1500])
      await space.at(1999)
      expect(bodies(await entity.receive(1))).toEqual(['none'])
      await space.at(2700)
      expect(await entity.receive()).toEqual([])
    })

    test('EXP-11 a time to live below an hour is kept', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { defaultMessageTimeToLive: 'PT1H' })
      await entity.send({ body: 'a', timeToLive: 1500 })
      expect((await entity.peekOne()).timeToLive).toBe(1500)
    })

    // A client's connection is looked after every minute of the days that pass.
    test.skipIf(isByClient)('EXP-12 with none anywhere a message never expires', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a')
      await space.pass(400 * DAY_MS)
      const { body, timeToLive, expiresAtUtc } = await entity.receiveOne()
      expect([body, timeToLive]).toEqual(['a', undefined])
      expect(expiresAtUtc.getTime()).toBeGreaterThan(YEAR_9000_MS)
    })

    test('EXP-15 dead-lettering is off: expired messages are dropped', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(1600)
      expect(await entity.receive()).toEqual([])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('EXP-16 the dead letter says why, and is unchanged otherwise', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      const sent = {
        body: { order: 7 },
        messageId: 'm-1',
        correlationId: 'c-1',
        subject: 'paid',
        contentType: 'application/json',
        applicationProperties: { colour: 'red', count: 3 },
      }
      await entity.send({ ...sent, timeToLive: 900 })
      await space.at(1600)
      await entity.receive()
      const dead = await entity.deadOne()
      const description = 'The message expired and was dead lettered.'
      expect(dead).toMatchObject({
        ...sent,
        deadLetterReason: 'TTLExpiredException',
        deadLetterErrorDescription: description,
      })
      expect(dead.applicationProperties).toEqual({
        colour: 'red',
        count: 3,
        DeadLetterReason: 'TTLExpiredException',
        DeadLetterErrorDescription: description,
      })
    })

    test('EXP-18 many listeners: each expired message is dead-lettered exactly once', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      const names = Array.from({ length: 40 }, (_, n) => `m${n}`)
      await entity.send(...names.map((body) => ({ body, timeToLive: 900 })))
      await space.at(1600)
      const listeners = Array.from({ length: 6 }, () => entity.attach())
      const received = await Promise.all(
        listeners.map((each) => each.receiveMessages(40, { maxWaitTimeInMs: 0 })),
      )
      expect(received.flat()).toEqual([])
      expect(await entity.peek()).toEqual([])
      expect(sortedBodies(await entity.dead())).toEqual(names.toSorted())
    })

    test('EXP-19 a waiting receiver gets messages that live for 250 ms', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const got: unknown[] = []
      for (const body of ['a', 'b', 'c']) {
        const waiting = entity.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 })
        await entity.send({ body, timeToLive: 250 })
        const messages = await waiting
        got.push(...bodies(messages))
        for (const message of messages) await entity.receiver.completeMessage(message)
        await space.pass(300)
      }
      expect(got).toEqual(['a', 'b', 'c'])
    })

    test('EXP-19 without a waiting receiver such a message is gone after 300 ms', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', timeToLive: 250 })
      await space.at(249)
      const message = await entity.receiveOne()
      await entity.receiver.abandonMessage(message)
      await space.at(300)
      expect(await entity.receive()).toEqual([])
    })

    test('EXP-20 nothing expires in the dead-letter queue', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', timeToLive: 1200 })
      await entity.receiver.deadLetterMessage(await entity.receiveOne())
      await space.at(1900)
      await using receiver = entity.attachToDead()
      const receive = () => receiver.receiveMessages(5, { maxWaitTimeInMs: 0 })
      const [first] = await receive()
      if (first === undefined) throw new Error('the dead letter has gone')
      await receiver.abandonMessage(first)
      const [second] = await receive()
      if (second === undefined) throw new Error('the dead letter has gone')
      await receiver.completeMessage(second)
      expect(await receive()).toEqual([])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('EXP-21 a deferred message does not expire', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 })
      const message = await entity.receiveOne()
      await entity.receiver.deferMessage(message)
      await space.at(1600)
      expect(await entity.receive()).toEqual([])
      expect(await entity.dead()).toEqual([])
      const deferred = await entity.receiver.receiveDeferredMessages(message.sequenceNumber)
      expect(bodies(deferred)).toEqual(['a'])
    })

    test('EXP-21 nor when it comes back after its time to live', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { ...DEAD_LETTERING, lockDuration: 2000 })
      await entity.send({ body: 'a', timeToLive: 900 })
      const message = await entity.receiveOne()
      await entity.receiver.deferMessage(message)
      await entity.receiver.receiveDeferredMessages(message.sequenceNumber)
      await space.at(2700)
      expect(await entity.dead()).toEqual([])
      const again = await entity.receiver.receiveDeferredMessages(message.sequenceNumber)
      expect(again.map(({ deliveryCount }) => deliveryCount)).toEqual([1])
    })

    test('EXP-22 a new default leaves the messages alone that are there', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { defaultMessageTimeToLive: 60_000 })
      await entity.send('before')
      await entity.update({ defaultMessageTimeToLive: 1000 })
      await entity.send('after')
      expect((await entity.peek()).map(({ timeToLive }) => timeToLive)).toEqual([60_000, 1000])
      await space.at(1500)
      expect(bodies(await entity.receive())).toEqual(['before'])
    })

    test('EXP-24 each message of a batch keeps its own time to live', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const batch = await entity.sender.createMessageBatch()
      for (const timeToLive of [800, 60_000, undefined]) {
        expect(batch.tryAddMessage({ body: `${timeToLive}`, timeToLive })).toBe(true)
      }
      await entity.sender.sendMessages(batch)
      await space.at(1500)
      expect(bodies(await entity.receive())).toEqual(['60000', 'undefined'])
    })

    test.skipIf(isByClient)('EXP-25 times to live above 2^32 ms are exact', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { defaultMessageTimeToLive: 'P100D' })
      await entity.send('a')
      const { timeToLive, expiresAtUtc } = await entity.peekOne()
      expect(timeToLive).toBe(8_640_000_000)
      expect(expiresAtUtc.getTime()).toBe(space.startMs + 8_640_000_000)
      await space.at(8_639_999_999)
      expect(bodies(await entity.receive())).toEqual(['a'])
    })
  })

  describe('expiry in topics and tiers', () => {
    test('EXP-13 the smaller default of the topic applies', async () => {
      const space = await open()
      await space.topic('t', { defaultMessageTimeToLive: 2000 })
      const copy = await space.subscription('t', 's', { defaultMessageTimeToLive: 'PT1H' })
      await copy.send('a', { body: 'b', timeToLive: HOUR_MS })
      expect((await copy.peek()).map(({ timeToLive }) => timeToLive)).toEqual([2000, 2000])
      await space.at(2000)
      expect(await copy.receive()).toEqual([])
    })

    test('EXP-14 the default of a subscription is a ceiling for its copies only', async () => {
      const space = await open()
      await space.topic('t', { defaultMessageTimeToLive: 'PT1H' })
      const short = await space.subscription('t', 'short', { defaultMessageTimeToLive: 2000 })
      const long = await space.subscription('t', 'long', { defaultMessageTimeToLive: 'PT1H' })
      await short.send({ body: 'a', timeToLive: 60_000 })
      expect((await short.peekOne()).timeToLive).toBe(2000)
      expect((await long.peekOne()).timeToLive).toBe(60_000)
      await space.at(2700)
      expect(await short.receive()).toEqual([])
      expect(bodies(await long.receive())).toEqual(['a'])
    })

    test('EXP-15 one subscription keeps its expired copy, the other does not', async () => {
      const space = await open()
      await space.topic('t')
      const on = await space.subscription('t', 'on', DEAD_LETTERING)
      const off = await space.subscription('t', 'off')
      await on.send({ body: 'a', timeToLive: 900 })
      await space.at(1600)
      for (const each of [on, off]) expect(await each.receive()).toEqual([])
      expect(await on.places()).toEqual({ here: [], dead: ['a'] })
      expect(await off.places()).toEqual({ here: [], dead: [] })
    })

    test('EXP-23 in the tier Basic messages live for 14 days at most', async () => {
      const space = await open({ tier: 'Basic' })
      const queue = await space.queue('q')
      expect((await space.broker.getQueue('q')).defaultMessageTimeToLive).toBe('P14D')
      await queue.send('none', { body: 'long', timeToLive: 30 * DAY_MS })
      const shown = (await queue.peek()).map(({ timeToLive }) => timeToLive)
      expect(shown).toEqual([14 * DAY_MS, 14 * DAY_MS])
    })

    test('EXP-23 in the other tiers there is no default', async () => {
      for (const tier of ['Standard', 'Premium'] as const) {
        const space = await open({ tier })
        const queue = await space.queue('q')
        expect((await space.broker.getQueue('q')).defaultMessageTimeToLive).toBeUndefined()
        await queue.send({ body: 'long', timeToLive: 30 * DAY_MS })
        expect((await queue.peekOne()).timeToLive).toBe(30 * DAY_MS)
      }
    })
  })
}
