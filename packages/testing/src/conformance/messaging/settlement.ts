import type { MessageHandlers, ReceivedMessage } from '@tidemark/messaging'
import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type CaseParts } from './fixtures.ts'
import type { TestedReceiver } from './messaging-client.ts'
import { bodies, only, receiveNow } from './tested-entity.ts'

const GUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const LOCKS = { lockDuration: 2000 }

/** What its receiver can do with a message. */
const SETTLEMENTS = {
  complete: (receiver: TestedReceiver, message: ReceivedMessage) =>
    receiver.completeMessage(message),
  abandon: (receiver: TestedReceiver, message: ReceivedMessage) =>
    receiver.abandonMessage(message, { by: 'me' }),
  defer: (receiver: TestedReceiver, message: ReceivedMessage) =>
    receiver.deferMessage(message, { by: 'me' }),
  deadLetter: (receiver: TestedReceiver, message: ReceivedMessage) =>
    receiver.deadLetterMessage(message, { deadLetterReason: 'mine' }),
}

/** Locks, and what settles a message. */
export function messagingSettlement({ open, isByClient }: CaseParts): void {
  describe.each(BOTH)('settlement in a %s', (kind) => {
    test('SET-01 a delivery has a lock, and completing removes the message', async () => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      const message = await entity.receiveOne()
      expect(message.lockToken).toMatch(GUID)
      expect(message.lockedUntilUtc?.getTime()).toBe(space.startMs + 2000)
      expect(await entity.receive()).toEqual([])
      await entity.receiver.completeMessage(message)
      await space.at(5000)
      expect(await entity.receive()).toEqual([])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-01 the lock lasts exactly for the lock duration', async () => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      await entity.receiveOne()
      await space.at(1999)
      expect(await entity.receive()).toEqual([])
      await space.at(2000)
      expect((await entity.receiveOne()).deliveryCount).toBe(1)
    })

    test('SET-02 an abandoned message is in front again, with the changed properties', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', applicationProperties: { colour: 'red', n: 1 } }, 'b')
      const [a] = await entity.receive(1)
      if (a === undefined) throw new Error('two were sent')
      expect(a.deliveryCount).toBe(0)
      await entity.receiver.abandonMessage(a, { colour: 'blue', tries: 1 })
      const again = await entity.receive()
      expect(bodies(again)).toEqual(['a', 'b'])
      expect(again[0]).toMatchObject({ deliveryCount: 1, sequenceNumber: a.sequenceNumber })
      expect(again[0]?.applicationProperties).toEqual({ colour: 'blue', n: 1, tries: 1 })
      expect(again[0]?.lockToken).not.toBe(a.lockToken)
    })

    test.each(['abandons', 'lets locks time out'])(
      'SET-03 after the largest count a message is dead-lettered (the consumer %s)',
      async (consumer) => {
        const space = await open()
        const entity = await space.receiving(kind, { ...LOCKS, maxDeliveryCount: 3 })
        await entity.send('a')
        for (let deliveries = 0; deliveries < 3; deliveries++) {
          const message = await entity.receiveOne()
          expect(message.deliveryCount).toBe(deliveries)
          if (consumer === 'abandons') await entity.receiver.abandonMessage(message)
          else await space.pass(2000)
        }
        expect(await entity.receive()).toEqual([])
        expect(await entity.deadOne()).toMatchObject({
          body: 'a',
          deadLetterReason: 'MaxDeliveryCountExceeded',
          deadLetterErrorDescription: 'Message could not be consumed after 3 delivery attempts.',
        })
      },
    )

    test('SET-03 the default is ten', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a')
      for (let deliveries = 0; deliveries < 10; deliveries++) {
        await entity.receiver.abandonMessage(await entity.receiveOne())
      }
      expect(await entity.places()).toEqual({ here: [], dead: ['a'] })
    })

    test('SET-04 a dead letter has reason, description and properties', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', applicationProperties: { colour: 'red' } })
      await entity.receiver.deadLetterMessage(await entity.receiveOne(), {
        deadLetterReason: 'broken',
        deadLetterErrorDescription: 'no wheels',
        propertiesToModify: { tries: 4 },
      })
      const dead = await entity.deadOne()
      expect(dead).toMatchObject({
        body: 'a',
        deadLetterReason: 'broken',
        deadLetterErrorDescription: 'no wheels',
      })
      expect(dead.applicationProperties).toEqual({
        colour: 'red',
        tries: 4,
        DeadLetterReason: 'broken',
        DeadLetterErrorDescription: 'no wheels',
      })
    })

    test('SET-04 a reason may have 4096 characters and not more', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b')
      const [a, b] = await entity.receive()
      const dead = (message: ReceivedMessage | undefined, length: number) =>
        entity.receiver.deadLetterMessage(message ?? {}, { deadLetterReason: 'x'.repeat(length) })
      expect(await rejection(dead(a, 4097))).toBe('ERR_INVALID_OPTION')
      await dead(b, 4096)
      expect(await entity.places()).toEqual({ here: ['a'], dead: ['b'] })
      expect((await entity.deadOne()).deadLetterReason).toHaveLength(4096)
    })

    test('SET-04 in the dead-letter queue it is refused', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a')
      await entity.receiver.deadLetterMessage(await entity.receiveOne())
      await using receiver = entity.attachToDead()
      const message = only(await receiveNow(receiver))
      const again = receiver.deadLetterMessage(message)
      expect(await rejection(again)).toBe('ERR_MESSAGING_NOT_ALLOWED')
      expect(await entity.places()).toEqual({ here: [], dead: ['a'] })
    })

    test('SET-03 SET-05 SET-18 it has numbers of its own, defers, and no delivery is too many', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { maxDeliveryCount: 1 })
      await entity.send('a', 'b')
      for (const message of (await entity.receive()).toReversed()) {
        await entity.receiver.abandonMessage(message)
      }
      await using receiver = entity.attachToDead()
      for (let time = 0; time < 3; time++) {
        const [b] = await receiveNow(receiver, 1)
        // What it had when it died: in a dead-letter queue no delivery is counted.
        expect(b).toMatchObject({ body: 'b', sequenceNumber: 1, deliveryCount: 1 })
        await receiver.abandonMessage(b ?? {})
      }
      const [b, a] = await receiveNow(receiver)
      expect(a).toMatchObject({ body: 'a', sequenceNumber: 2 })
      await receiver.deferMessage(b ?? {})
      expect(bodies(await receiver.receiveDeferredMessages(1))).toEqual(['b'])
    })

    test('SET-05 a deferred message is received by its number only, and stays deferred', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', applicationProperties: { n: 1 } }, 'b')
      const [a] = await entity.receive(1)
      if (a === undefined) throw new Error('two were sent')
      await entity.receiver.deferMessage(a, { why: 'later' })
      expect(bodies(await entity.receive())).toEqual(['b'])
      expect((await entity.peek())[0]).toMatchObject({
        state: 'deferred',
        applicationProperties: { n: 1, why: 'later' },
      })
      const ofActive = entity.receiver.receiveDeferredMessages(a.sequenceNumber + 1)
      expect(await rejection(ofActive)).toBe('ERR_MESSAGE_NOT_FOUND')
      const byNumber = () => entity.receiver.receiveDeferredMessages(a.sequenceNumber)
      const first = only(await byNumber())
      expect(first.state).toBe('deferred')
      expect(first.lockToken).not.toBe(a.lockToken)
      // Under its lock it is not found.
      expect(await rejection(byNumber())).toBe('ERR_MESSAGE_NOT_FOUND')
      await entity.receiver.abandonMessage(first)
      expect(await entity.receive()).toEqual([])
      await entity.receiver.completeMessage(only(await byNumber()))
      expect(await rejection(byNumber())).toBe('ERR_MESSAGE_NOT_FOUND')
      expect(bodies(await entity.peek())).toEqual(['b'])
    })

    test('SET-05 several come at once, and none when one is unknown; they can be deleted so', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b')
      const numbers: number[] = []
      for (const message of await entity.receive()) {
        numbers.push(message.sequenceNumber)
        await entity.receiver.deferMessage(message)
      }
      await using receiver = entity.attach({ receiveMode: 'receiveAndDelete' })
      const received = receiver.receiveDeferredMessages([...numbers, 77])
      expect(await rejection(received)).toBe('ERR_MESSAGE_NOT_FOUND')
      expect(bodies(await receiver.receiveDeferredMessages(numbers))).toEqual(['a', 'b'])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-05 SET-06 SET-07 its lock is renewed, and ends; it can be dead-lettered', async () => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      const { receiver } = entity
      const message = await entity.receiveOne()
      await receiver.deferMessage(message)
      const byNumber = async () =>
        only(await receiver.receiveDeferredMessages(message.sequenceNumber))
      const locked = await byNumber()
      await space.at(1000)
      expect((await receiver.renewMessageLock(locked)).getTime()).toBe(space.startMs + 3000)
      await space.at(3000)
      expect(await rejection(receiver.completeMessage(locked))).toBe('ERR_MESSAGE_LOCK_LOST')
      await receiver.deadLetterMessage(await byNumber(), { deadLetterReason: 'tired' })
      expect(await entity.deadOne()).toMatchObject({ deadLetterReason: 'tired', state: 'active' })
      expect(await entity.peek()).toEqual([])
    })

    test.each([
      ...Object.entries(SETTLEMENTS),
      [
        'renew',
        (receiver: TestedReceiver, message: ReceivedMessage) => receiver.renewMessageLock(message),
      ],
    ] as const)('SET-06 when the lock has ended, it is too late to %s', async (_, settle) => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      const message = await entity.receiveOne()
      await space.at(2000)
      const late = () => rejection(settle(entity.receiver, message))
      expect(await late()).toBe('ERR_MESSAGE_LOCK_LOST')
      expect(await entity.receiveOne()).toMatchObject({ body: 'a', deliveryCount: 1 })
      // Its token means nothing while another one holds the lock.
      expect(await late()).toBe('ERR_MESSAGE_LOCK_LOST')
      expect(await entity.places()).toEqual({ here: ['a'], dead: [] })
    })

    test('SET-07 renewing sets the end to now plus the lock duration, again and again', async () => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      const message = await entity.receiveOne()
      for (const ms of [1000, 1100, 3000]) {
        await space.at(ms)
        const end = await entity.receiver.renewMessageLock(message)
        expect(end.getTime()).toBe(space.startMs + ms + 2000)
        expect(message.lockedUntilUtc).toEqual(end)
      }
      await space.at(4999)
      expect(await entity.receive()).toEqual([])
      await entity.receiver.completeMessage(message)
    })

    // The official client renews by the machine's clock.
    test.skipIf(isByClient)('SET-07 while a handler works its lock is renewed', async () => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      const work = Promise.withResolvers<void>()
      const seen: unknown[] = []
      const subscription = entity.receiver.subscribe({
        processMessage: async ({ body }) => {
          seen.push(body)
          await work.promise
        },
        processError: async ({ error }) => void seen.push(error),
      })
      await space.at(60_000)
      expect(bodies(await entity.through(space.secondBroker()).receive())).toEqual([])
      work.resolve()
      await subscription.close()
      expect(seen).toEqual(['a'])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-07 what autoCompleteMessages does: complete, or abandon after a failure', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b')
      const seen: unknown[] = []
      const errors: unknown[] = []
      const handlers: MessageHandlers = {
        processMessage: async ({ body, deliveryCount }) => {
          seen.push([body, deliveryCount])
          if (body === 'a' && deliveryCount === 0) throw new Error('not yet')
        },
        processError: async ({ errorSource }) => void errors.push(errorSource),
      }
      const subscription = entity.receiver.subscribe(handlers, { retryDelayInMs: 0 })
      await expect.poll(() => seen.length).toBe(3)
      await subscription.close()
      expect(seen).toEqual([
        ['a', 0],
        ['a', 1],
        ['b', 0],
      ])
      expect(errors).toEqual(['processMessage'])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-08 receive-and-delete removes at the delivery', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b')
      await using receiver = entity.attach({ receiveMode: 'receiveAndDelete' })
      const a = only(await receiveNow(receiver, 1))
      expect([a.body, a.lockToken, a.lockedUntilUtc]).toEqual(['a', undefined, undefined])
      expect(bodies(await entity.peek())).toEqual(['b'])
      const settled = receiver.completeMessage(a)
      expect(await rejection(settled)).not.toBe('none')
      expect(bodies(await receiveNow(receiver))).toEqual(['b'])
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-09 a peek shows every state in order, and changes nothing', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { maxDeliveryCount: 1 })
      await entity.send('deferred', 'locked', { body: 'expired', timeToLive: 900 }, 'active')
      const [deferred] = await entity.receive(2)
      if (deferred === undefined) throw new Error('four were sent')
      await entity.receiver.deferMessage(deferred)
      await entity.detach()
      await space.at(1600)
      for (let turn = 0; turn < 2; turn++) {
        const peeked = await entity.peek()
        expect(peeked.map(({ body, state }) => [body, state])).toEqual([
          ['deferred', 'deferred'],
          ['locked', 'active'],
          ['expired', 'active'],
          ['active', 'active'],
        ])
        const numbers = peeked.map(({ sequenceNumber }) => sequenceNumber)
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
        expect(peeked.some(({ lockToken }) => lockToken !== undefined)).toBe(false)
      }
      await using receiver = entity.attach()
      const from = (await entity.peek())[2]?.sequenceNumber ?? 0
      const some = await receiver.peekMessages(1, { fromSequenceNumber: from })
      expect(bodies(some)).toEqual(['expired'])
      expect(bodies(await receiver.peekMessages(5))).toEqual(['active'])
      expect(await receiver.peekMessages(5)).toEqual([])
      expect(bodies(await entity.receive())).toEqual(['active'])
    })

    test.each(Object.entries(SETTLEMENTS))(
      'SET-16 the lock outlives the receiver, and another one can %s by the token',
      async (call, settle) => {
        const space = await open()
        const entity = await space.receiving(kind, LOCKS)
        await entity.send('a', 'b', 'c')
        const [a, b, c] = await entity.receive()
        if (!a || !b || !c) throw new Error('three were sent')
        await entity.detach()
        expect(await entity.receive()).toEqual([])
        await settle(entity.receiver, a)
        await entity.through(space.secondBroker()).receiver.completeMessage(b)
        const places = {
          complete: { here: ['c'], dead: [] },
          abandon: { here: ['a', 'c'], dead: [] },
          defer: { here: ['a', 'c'], dead: [] },
          deadLetter: { here: ['c'], dead: ['a'] },
        }[call]
        expect(await entity.places()).toEqual(places)
        await space.at(2000)
        expect(await rejection(settle(entity.receiver, c))).toBe('ERR_MESSAGE_LOCK_LOST')
      },
    )

    test('SET-16 what the handlers of a closed subscription left is locked until its time', async () => {
      const space = await open()
      const entity = await space.receiving(kind, LOCKS)
      await entity.send('a')
      const receiver = entity.attach({ maxAutoLockRenewalDurationInMs: 0 })
      const seen = Promise.withResolvers<unknown>()
      const subscription = receiver.subscribe(
        {
          processMessage: async ({ body }) => seen.resolve(body),
          processError: async ({ error }) => seen.reject(error),
        },
        { autoCompleteMessages: false },
      )
      expect(await seen.promise).toBe('a')
      await subscription.close()
      await receiver.close()
      expect(await entity.receive()).toEqual([])
      await space.at(2000)
      expect(bodies(await entity.receive())).toEqual(['a'])
    })

    test('SET-16 closing gives back what was received ahead, and counts nothing', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b', 'c')
      const ahead = entity.attach({ prefetchCount: 3 })
      expect(bodies(await receiveNow(ahead, 1))).toEqual(['a'])
      await space.settled()
      await ahead.close()
      const messages = await entity.receive()
      expect(messages.map(({ body, deliveryCount }) => [body, deliveryCount])).toEqual([
        ['b', 0],
        ['c', 0],
      ])
    })

    // What the types of AMQP make of them has cases of its own.
    test.skipIf(isByClient)('SET-17 bodies and properties arrive as they were sent', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const bodiesSent = [
        'text',
        '',
        7,
        0.1,
        true,
        null,
        [1, ['a', null]],
        { deep: { er: [{}] }, umlaut: 'ä€😀' },
        new Uint8Array([0, 255, 128, 10]),
        new Uint8Array(),
      ]
      await entity.send(...bodiesSent.map((body) => ({ body })))
      const properties = {
        text: 'x',
        number: 1.5,
        whole: 3,
        large: 9_007_199_254_740_993n,
        yes: true,
        when: new Date('2026-03-01T12:00:00.001Z'),
        bytes: new Uint8Array([1, 2, 255]),
        nothing: null,
        'odd name ☃': 'y',
      }
      const system = {
        messageId: 'id ☃',
        contentType: 'text/plain',
        correlationId: 'c',
        partitionKey: 'p',
        replyToSessionId: 'r',
        subject: 's',
        to: 't',
        replyTo: 'u',
      }
      await entity.send({ body: 'last', ...system, applicationProperties: properties })
      const received = await entity.receive()
      expect(bodies(received)).toEqual([...bodiesSent, 'last'])
      const last = received.at(-1)
      expect(last).toMatchObject(system)
      expect(last?.applicationProperties).toEqual(properties)
    })

    test('SET-17 a message without an id gets one', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b')
      const ids = (await entity.receive()).map(({ messageId }) => messageId)
      expect(new Set(ids).size).toBe(2)
      for (const id of ids) expect(id).not.toBe('')
    })

    test('SET-18 numbers rise without gaps, and the enqueued time is the clock of the store', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      for (let turn = 0; turn < 3; turn++) {
        await entity.send('a', 'b')
        await space.pass(10)
      }
      const messages = await entity.receive()
      expect(messages.map(({ sequenceNumber }) => sequenceNumber)).toEqual([1, 2, 3, 4, 5, 6])
      for (const { sequenceNumber, enqueuedSequenceNumber } of messages) {
        expect(enqueuedSequenceNumber).toBe(sequenceNumber)
      }
      const times = messages.map(({ enqueuedTimeUtc }) => enqueuedTimeUtc.getTime())
      expect(times.map((ms) => ms - space.startMs)).toEqual([0, 0, 10, 10, 20, 20])
    })

    test('SET-19 receivers that compete share no message', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const names = Array.from({ length: 60 }, (_, n) => `m${n}`)
      await entity.send(...names)
      const shares = await Promise.all(
        [1, 2, 3].flatMap((max) =>
          Array.from({ length: 5 }, () => receiveNow(entity.attach(), max)),
        ),
      )
      const got = shares.flat()
      expect(new Set(bodies(got)).size).toBe(got.length)
      expect(got.length).toBe(30)
      expect(new Set(got.map(({ lockToken }) => lockToken)).size).toBe(30)
      expect(bodies(await entity.receive())).toHaveLength(30)
      expect(await entity.receive()).toEqual([])
    })

    test('SET-21 a receive that does not wait returns what is there, and no more than asked for', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      expect(await entity.receive()).toEqual([])
      await entity.send('a', 'b', 'c')
      expect(bodies(await entity.receive(2))).toEqual(['a', 'b'])
      expect(bodies(await entity.receive(5))).toEqual(['c'])
      expect(space.clock.wallMs()).toBe(space.startMs)
    })

    test('SET-21 one that waits gets the message as soon as it is sent, or nothing in time', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const waiting = entity.receiver.receiveMessages(1, { maxWaitTimeInMs: 5000 })
      await space.at(3000)
      await entity.send('a')
      expect(bodies(await waiting)).toEqual(['a'])
      const empty = entity.receiver.receiveMessages(1, { maxWaitTimeInMs: 100 })
      expect(await space.during(empty, 100)).toEqual([])
    })
  })

  describe('duplicate detection', () => {
    const DETECTING = {
      requiresDuplicateDetection: true,
      duplicateDetectionHistoryTimeWindow: 20_000,
    }

    test('SET-10 an id is accepted and dropped within its window, and takes no number', async () => {
      const space = await open()
      const queue = await space.queue('q', DETECTING)
      await queue.send({ body: 'a', messageId: '1' })
      await queue.send({ body: 'other body', messageId: '1' }, { body: 'b', messageId: '2' })
      await queue.receiver.completeMessage((await queue.receive(1))[0] ?? {})
      await space.at(19_999)
      await queue.send({ body: 'again', messageId: '1' })
      expect(bodies(await queue.peek())).toEqual(['b'])
      await space.at(20_000)
      await queue.send({ body: 'after', messageId: '1' })
      const now = (await queue.peek()).map(({ body, sequenceNumber }) => [body, sequenceNumber])
      expect(now).toEqual([
        ['b', 2],
        ['after', 3],
      ])
    })

    test('SET-10 twice in one call it is there once; ids are compared as they are', async () => {
      const space = await open()
      const queue = await space.queue('q', DETECTING)
      await queue.send(...['m', 'm', 'M'].map((messageId) => ({ body: messageId, messageId })))
      expect(bodies(await queue.peek())).toEqual(['m', 'M'])
    })

    test('SET-10 scheduled messages take part', async () => {
      const space = await open()
      const queue = await space.queue('q', DETECTING)
      const at = new Date(space.startMs + 1000)
      await queue.sender.scheduleMessages({ body: 'a', messageId: '1' }, at)
      await queue.send({ body: 'b', messageId: '1' })
      await space.at(1000)
      expect(bodies(await queue.receive())).toEqual(['a'])
    })

    test('SET-10 on a topic it acts before the rules', async () => {
      const space = await open()
      await space.topic('t', DETECTING)
      const first = await space.subscription('t', 'first')
      await first.send({ body: 'a', messageId: '1' })
      const second = await space.subscription('t', 'second')
      await first.send({ body: 'b', messageId: '1' })
      expect(bodies(await first.peek())).toEqual(['a'])
      expect(await second.peek()).toEqual([])
    })

    test('SET-10 without it, an id may come again', async () => {
      const space = await open()
      const queue = await space.queue('q')
      await queue.send({ body: 'a', messageId: '1' })
      await queue.send({ body: 'b', messageId: '1' })
      expect(bodies(await queue.peek())).toEqual(['a', 'b'])
    })

    test('SET-09 scheduled messages are peeked, too', async () => {
      const space = await open()
      const queue = await space.queue('q')
      await queue.send('a')
      await queue.sender.scheduleMessages({ body: 'b' }, new Date(space.startMs + 1000))
      expect((await queue.peek()).map(({ body, state }) => [body, state])).toEqual([
        ['a', 'active'],
        ['b', 'scheduled'],
      ])
    })
  })
}
