import { describe, expect, test } from 'vitest'
import { BOTH, type CaseParts } from './fixtures.ts'
import { bodies, receiveNow } from './tested-entity.ts'

const DEAD_LETTERING = { deadLetteringOnMessageExpiration: true }
const HOUR_MS = 3_600_000

/** What the rules of expiry leave open, and we have decided. */
export function messagingExpiryDecisions({ open, openAlone }: CaseParts): void {
  describe.each(BOTH)('expiry as we decided, in a %s', (kind) => {
    test('EXP-26 peeks, senders, rules and receivers of the dead-letter queue are no listeners', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 })
      await using peeking = entity.attach()
      await using dead = entity.attachToDead()
      await space.at(1600)
      await peeking.peekMessages(1)
      expect(await receiveNow(dead)).toEqual([])
      if (kind === 'subscription') await entity.createRule({ name: 'more' })
      await entity.send('b')
      await space.pass(1000)
      expect(await entity.places()).toEqual({ here: ['a', 'b'], dead: [] })
    })

    test('EXP-26 an open subscription of handlers is a listener', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(1600)
      const got: unknown[] = []
      const subscription = entity.receiver.subscribe({
        processMessage: async ({ body }) => void got.push(body),
        processError: async ({ error }) => void got.push(error),
      })
      await space.settled()
      await subscription.close()
      expect(got).toEqual([])
      expect(await entity.places()).toEqual({ here: [], dead: ['a'] })
    })

    test('EXP-26 a closed receiver is no listener any more', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.receive()
      await entity.detach()
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(2000)
      expect(await entity.places()).toEqual({ here: ['a'], dead: [] })
    })

    test('EXP-27 while a listener stays, a message leaves within 250 ms of its expiry', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      // Attached, and busy with something else.
      await entity.receive()
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(899)
      expect(await entity.places()).toEqual({ here: ['a'], dead: [] })
      await space.at(1150)
      expect(await entity.places()).toEqual({ here: [], dead: ['a'] })
    })

    test('EXP-27 what expires between send and delivery is not delivered to who waits', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send({ body: 'a', timeToLive: 900 }, { body: 'b', timeToLive: 901 })
      await space.at(900)
      const received = await Promise.all([1, 2].map(() => receiveNow(entity.attach(), 5)))
      expect(bodies(received.flat())).toEqual(['b'])
    })

    test('EXP-28 expiry wins over the largest delivery count', async () => {
      const space = await open()
      const options = { ...DEAD_LETTERING, maxDeliveryCount: 1, lockDuration: 2000 }
      const entity = await space.receiving(kind, options)
      await entity.send(
        { body: 'abandoned', timeToLive: 900 },
        { body: 'timed out', timeToLive: 900 },
      )
      const [first] = await entity.receive()
      if (first === undefined) throw new Error('two were sent')
      await space.at(1600)
      await entity.receiver.abandonMessage(first)
      await space.at(2500)
      const dead = await entity.dead()
      expect(dead.map(({ body, deadLetterReason }) => [body, deadLetterReason])).toEqual([
        ['abandoned', 'TTLExpiredException'],
        ['timed out', 'TTLExpiredException'],
      ])
    })

    test('EXP-29 a clock that is set back revives nothing', async () => {
      const space = await openAlone()
      const entity = await space.receiving(kind)
      await entity.send({ body: 'a', timeToLive: 900 })
      await space.at(900)
      // Somebody has seen this time.
      await entity.send('b')
      space.clock.jumpWall(-HOUR_MS)
      expect(bodies(await entity.receive())).toEqual(['b'])
    })

    test('EXP-29 locks end as if the clock had not been set back', async () => {
      const space = await openAlone()
      const entity = await space.receiving(kind, { lockDuration: 2000 })
      await entity.send('a')
      await entity.receiveOne()
      await space.pass(1000)
      space.clock.jumpWall(-HOUR_MS)
      await space.pass(999)
      expect(await entity.receive()).toEqual([])
      await space.pass(1)
      expect((await entity.receiveOne()).deliveryCount).toBe(1)
    })

    test('EXP-29 nor do they end because it is set forward', async () => {
      const space = await openAlone()
      const entity = await space.receiving(kind, { lockDuration: 2000 })
      await entity.send('a')
      const message = await entity.receiveOne()
      await space.pass(1000)
      space.clock.jumpWall(HOUR_MS)
      await space.pass(500)
      expect(await entity.receive()).toEqual([])
      await entity.receiver.completeMessage(message)
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('EXP-30 a dead letter keeps times and id, and gets the next number there', async () => {
      const space = await open()
      const entity = await space.receiving(kind, DEAD_LETTERING)
      await entity.send('a', { body: 'b', messageId: 'id', timeToLive: 900 })
      await entity.receiver.deadLetterMessage((await entity.receive(1))[0] ?? {})
      const before = await entity.peekOne()
      await space.at(1600)
      await entity.receive()
      const [first, second] = await entity.dead()
      expect([first?.sequenceNumber, second?.sequenceNumber]).toEqual([1, 2])
      expect(second).toMatchObject({
        body: 'b',
        messageId: 'id',
        enqueuedTimeUtc: before.enqueuedTimeUtc,
        expiresAtUtc: before.expiresAtUtc,
        timeToLive: 900,
      })
    })
  })

  describe('expiry as we decided', () => {
    test('EXP-26 forwarding is a listener: it passes on nothing that has expired', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.queue('source', DEAD_LETTERING)
      await source.send({ body: 'a', timeToLive: 900 }, 'b')
      await space.at(1600)
      expect(await source.dead()).toEqual([])
      await space.broker.updateQueue('source', { forwardTo: 'target' })
      await space.settled()
      expect(bodies(await target.receive())).toEqual(['b'])
      expect(await source.places()).toEqual({ here: [], dead: ['a'] })
    })
  })
}
