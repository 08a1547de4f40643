import type { Message } from '@tidemark/messaging'
import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type CaseParts } from './fixtures.ts'
import { bodies, receiveNow } from './tested-entity.ts'

/** Entities that pass their messages on. */
export function messagingForwarding({ open }: CaseParts): void {
  describe.each(BOTH)('forwarding from a %s', (kind) => {
    test('SET-13 SET-18 messages move on, in order, and keep their first number', async () => {
      const space = await open()
      const target = await space.queue('target')
      await target.send('before')
      const source = await space.receiving(kind, { forwardTo: 'target' })
      const sent = { messageId: 'm', subject: 's', applicationProperties: { n: 1 } }
      await source.send({ body: 'a', ...sent }, 'b')
      await source.send('c')
      const messages = await target.receive()
      expect(messages[1]).toMatchObject(sent)
      expect(
        messages.map(({ body, sequenceNumber, enqueuedSequenceNumber }) => [
          body,
          sequenceNumber,
          enqueuedSequenceNumber,
        ]),
      ).toEqual([
        ['before', 1, 1],
        ['a', 2, 1],
        ['b', 3, 2],
        ['c', 4, 3],
      ])
      expect(await source.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-13 who waits at the destination gets them', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.receiving(kind, { forwardTo: 'target' })
      const waiting = target.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 })
      await source.send('a')
      expect(bodies(await waiting)).toEqual(['a'])
    })

    test('SET-13 nobody receives from an entity that forwards', async () => {
      const space = await open()
      await space.queue('target')
      const source = await space.receiving(kind, { forwardTo: 'target' })
      expect(await rejection(source.receive())).toBe('ERR_MESSAGING_NOT_ALLOWED')
    })

    test('SET-13 the destination must exist at the creation', async () => {
      const space = await open()
      const created = space.receiving(kind, { forwardTo: 'nowhere' })
      expect(await rejection(created)).not.toBe('none')
      expect(await space.broker.listQueues()).toEqual([])
    })

    test.each(['missing', 'disabled', 'full'])(
      'SET-13 a destination that is %s: the message goes to the dead-letter queue of the source',
      async (what) => {
        const space = await open()
        const target = await space.queue('target', { maxSizeInMegabytes: 1 })
        const source = await space.receiving(kind, { forwardTo: 'target' })
        if (what === 'missing') await space.broker.deleteQueue('target')
        if (what === 'disabled') await space.broker.updateQueue('target', { status: 'Disabled' })
        if (what === 'full') {
          const half = new Uint8Array(500_000)
          await target.send({ body: half })
          await target.send({ body: half })
          // Quotas may lag by a second.
          await space.pass(1000)
        }
        await source.send({ body: 'a', subject: 'x'.repeat(60_000) })
        await space.pass(1000)
        expect(bodies(await source.dead())).toEqual(['a'])
        expect(bodies(await source.peek())).toEqual([])
      },
    )

    test('SET-14 dead letters move on, and tell where they died', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.receiving(kind, { forwardDeadLetteredMessagesTo: 'target' })
      await source.send({ body: 'a', timeToLive: 60_000 })
      await source.receiver.deadLetterMessage(await source.receiveOne(), {
        deadLetterReason: 'broken',
      })
      await space.at(1000)
      const message = await target.receiveOne()
      expect(message).toMatchObject({
        body: 'a',
        deadLetterReason: 'broken',
        deadLetterSource: kind === 'queue' ? 'q' : 't/Subscriptions/s',
      })
      expect(await source.places()).toEqual({ here: [], dead: [] })
    })

    test.each([
      ['TTLExpiredException', { deadLetteringOnMessageExpiration: true }, 900],
      ['MaxDeliveryCountExceeded', { maxDeliveryCount: 1 }, 0],
    ])('SET-14 to a topic, too, with the reason %s', async (deadLetterReason, options, ms) => {
      const space = await open()
      await space.topic('graves')
      const target = await space.subscription('graves', 's')
      const source = await space.receiving(kind, {
        ...options,
        forwardDeadLetteredMessagesTo: 'graves',
      })
      await source.send({ body: 'a', timeToLive: 900 })
      await source.receiver.abandonMessage(await source.receiveOne())
      await space.at(ms)
      expect(await target.receiveOne()).toMatchObject({ body: 'a', deadLetterReason })
    })

    test('EXP-33 SET-14 what expires in an entity that always expires goes on, although nobody listens', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.receiving(kind, {
        expires: 'always',
        deadLetteringOnMessageExpiration: true,
        forwardDeadLetteredMessagesTo: 'target',
      })
      const waiting = target.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 })
      await source.send({ body: 'a', timeToLive: 900 })
      await space.pass(2000)
      const [message] = await space.during(waiting, 60_000)
      expect(message).toMatchObject({ body: 'a', deadLetterReason: 'TTLExpiredException' })
    })

    test('SET-13 a scheduled message is forwarded at its time', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.receiving(kind, { forwardTo: 'target' })
      const at = new Date(space.startMs + 1000)
      await source.sender.scheduleMessages({ body: 'a' }, at)
      await space.at(999)
      expect(await target.receive()).toEqual([])
      await space.at(1000)
      expect(bodies(await target.receive())).toEqual(['a'])
    })

    test('EXP-31 a forwarded message keeps its effective time to live, counted from there', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.receiving(kind, { defaultMessageTimeToLive: 5000 })
      await source.send('a')
      await space.at(1000)
      await source.update({ forwardTo: 'target' })
      await space.settled()
      const { timeToLive, enqueuedTimeUtc, expiresAtUtc } = await target.receiveOne()
      expect([timeToLive, enqueuedTimeUtc.getTime()]).toEqual([5000, space.startMs + 1000])
      expect(expiresAtUtc.getTime()).toBe(space.startMs + 6000)
    })

    test('EXP-31 so does a dead letter that is forwarded', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.receiving(kind, {
        defaultMessageTimeToLive: 5000,
        forwardDeadLetteredMessagesTo: 'target',
      })
      await source.send('a')
      const message = await source.receiveOne()
      await space.at(1000)
      await source.receiver.deadLetterMessage(message)
      await space.settled()
      const { timeToLive, enqueuedTimeUtc, expiresAtUtc } = await target.receiveOne()
      expect(timeToLive).toBe(5000)
      expect(expiresAtUtc.getTime() - enqueuedTimeUtc.getTime()).toBe(5000)
      expect(enqueuedTimeUtc.getTime()).toBe(space.startMs + 1000)
    })
  })

  describe('forwarding', () => {
    test('SET-13 at most four times, then to the dead-letter queue', async () => {
      const space = await open()
      await space.queue('q6')
      for (const n of [5, 4, 3, 2, 1]) await space.queue(`q${n}`, { forwardTo: `q${n + 1}` })
      await space.entity('q2').send('four hops')
      await space.entity('q1').send('five hops')
      await space.pass(1000)
      expect(bodies(await space.entity('q6').receive())).toEqual(['four hops'])
      const dead = await space.entity('q5').deadOne()
      expect([dead.body, dead.deadLetterReason]).toEqual([
        'five hops',
        'MaxTransferHopCountExceeded',
      ])
    })

    test('SET-14 a dead letter goes on, also after four hops, and after one too many', async () => {
      const space = await open()
      await space.queue('target')
      const forwardDeadLetteredMessagesTo = 'target'
      await space.queue('q6', { forwardDeadLetteredMessagesTo })
      for (const n of [5, 4, 3, 2, 1]) {
        await space.queue(`q${n}`, { forwardTo: `q${n + 1}`, forwardDeadLetteredMessagesTo })
      }
      await space.entity('q1').send('five hops')
      await space.entity('q2').send('four hops')
      await space.pass(1000)
      const last = space.entity('q6')
      await last.receiver.deadLetterMessage(await last.receiveOne())
      await space.settled()
      const dead = await space.entity('target').receive()
      expect(dead.map(({ body, deadLetterSource }) => [body, deadLetterSource])).toEqual([
        ['five hops', 'q5'],
        ['four hops', 'q6'],
      ])
    })

    test('SET-13 SET-14 an entity that forwards to itself ends in its dead-letter queue', async () => {
      const space = await open()
      const queue = await space.queue('queue', { requiresDuplicateDetection: true })
      await queue.update({ forwardTo: 'Queue', forwardDeadLetteredMessagesTo: 'queue' })
      await queue.send('a', 'b')
      await space.pass(1000)
      const dead = await queue.dead()
      expect(bodies(dead)).toEqual(['a', 'b'])
      expect(dead[0]?.deadLetterReason).toBe('MaxTransferHopCountExceeded')
      expect(await queue.peek()).toEqual([])
    })

    test('SET-14 dead letters may come back to where they died', async () => {
      const space = await open()
      const queue = await space.queue('queue', { requiresDuplicateDetection: true })
      await queue.update({ forwardDeadLetteredMessagesTo: 'queue' })
      await queue.send('a')
      for (let round = 0; round < 6; round++) {
        await queue.receiver.deadLetterMessage(await queue.receiveOne())
        await space.pass(1000)
      }
      expect(bodies(await queue.receive())).toEqual(['a'])
    })

    test('SET-14 a message may die and come back as often as it is read', async () => {
      const space = await open()
      await space.queue('again')
      const queue = await space.queue('queue', { forwardDeadLetteredMessagesTo: 'again' })
      await space.entity('again').update({ forwardTo: 'queue' })
      await queue.send('a')
      for (let round = 0; round < 6; round++) {
        await queue.receiver.deadLetterMessage(await queue.receiveOne())
        await space.pass(1000)
      }
      expect(bodies(await queue.receive())).toEqual(['a'])
    })

    test('SET-13 to a topic: the rules of its subscriptions decide', async () => {
      const space = await open()
      await space.topic('t')
      const red = await space.subscription('t', 'red', {
        rules: [{ name: 'r', filter: { sqlExpression: "colour = 'red'" } }],
      })
      const all = await space.subscription('t', 'all')
      const source = await space.queue('source', { forwardTo: 't' })
      await source.send({ body: 'a', applicationProperties: { colour: 'red' } }, 'b')
      expect(bodies(await all.receive())).toEqual(['a', 'b'])
      expect(bodies(await red.receive())).toEqual(['a'])
    })

    test('SET-14 dead letters that cannot go to their destination block none behind them', async () => {
      const space = await open()
      const target = await space.queue('target', { requiresSession: true })
      const source = await space.queue('source', { forwardDeadLetteredMessagesTo: 'target' })
      const bury = async (...messages: Message[]) => {
        await source.send(...messages)
        for (const one of await source.receive()) await source.receiver.deadLetterMessage(one)
        await space.settled()
      }
      await bury(...Array.from({ length: 101 }, () => ({ body: 'none' })))
      await bury({ body: 'a', sessionId: 's' })
      await bury({ body: 'none' }, { body: 'b', sessionId: 's' })
      expect(bodies(await target.peek())).toEqual(['a', 'b'])
      expect(await source.dead()).toHaveLength(102)
      await space.broker.deleteQueue('target')
      const plain = await space.queue('target')
      expect(await plain.receive()).toHaveLength(102)
    })

    test('SET-13 a message that is too large for the destination goes to the dead-letter queue', async () => {
      const space = await open()
      const target = await space.queue('target', { maxMessageSizeInKilobytes: 1 })
      const source = await space.queue('source', { forwardTo: 'target' })
      await source.send({ body: new Uint8Array(2000) }, 'b')
      expect(bodies(await target.receive())).toEqual(['b'])
      expect((await source.deadOne()).deadLetterReason).toBe('MessageSizeExceeded')
    })

    test('SET-13 a message that the store refuses stops no other', async () => {
      const space = await open()
      const target = await space.queue('target', { requiresSession: true })
      const source = await space.queue('source')
      await source.send({ body: 'a', sessionId: 's' })
      // As a release wrote it that did not refuse it. Some engines store it.
      const outgoing = source.brokerSender.outgoing({ body: 'x', sessionId: 'bad' })
      const { command } = await outgoing.prepare()
      const parcels = command.parcels.map(({ messages }) => ({
        messages: messages.map((one) => ({
          ...one,
          head: one.head.replace('"sessionId":"bad"', String.raw`"sessionId":"a\u0000"`),
        })),
      }))
      const engine = await space.database.openMessages()
      await engine.perform<'send'>({ ...command, parcels }, outgoing.callerTime())
      await source.send({ body: 'b', sessionId: 's' })
      await space.broker.updateQueue('source', { forwardTo: 'target' })
      await space.settled()
      await using session = await target.accept('s')
      expect(bodies(await receiveNow(session))).toEqual(['a', 'b'])
      expect(await source.peek()).toEqual([])
      const elsewhere = [...(await source.dead()), ...(await target.peek())]
      expect(bodies(elsewhere)).toContain('x')
    })

    test('SET-13 who waits at an entity that begins to forward is told', async () => {
      const space = await open()
      await space.queue('target')
      const source = await space.queue('source')
      const waiting = source.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 })
      const told = rejection(waiting)
      await space.settled()
      await space.broker.updateQueue('source', { forwardTo: 'target' })
      await space.pass(5_000)
      expect(await space.during(told, 60_000)).toBe('ERR_MESSAGING_NOT_ALLOWED')
    })

    test('SET-13 a queue that begins to forward passes on what it has', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.queue('source')
      await source.send('a', 'b')
      await space.broker.updateQueue('source', { forwardTo: 'target' })
      await space.settled()
      expect(bodies(await target.receive())).toEqual(['a', 'b'])
    })
  })
}
