import { describe, expect, test } from 'vitest'
import { rejection, type OpenNamespace, type TestedNamespace } from './fixtures.ts'
import { bodies, only, receiveNow, sortedBodies } from './tested-entity.ts'

const GONE = 'ERR_MESSAGING_ENTITY_NOT_FOUND'

/** What is there after a restart, of engines that are durable. */
export function messagingRestarts(open: OpenNamespace): void {
  /** On a durable engine. */
  const start = async (skip: (note: string) => void): Promise<TestedNamespace> => {
    const space = await open()
    if (!space.isDurable) skip('this engine is not durable')
    return space
  }
  const stopFor = async (space: TestedNamespace, ms: number): Promise<void> => {
    await space.stop()
    space.clock.stall(ms)
    await space.restart()
  }

  describe('restarts', () => {
    test('TMP-11 the idle period goes on while nobody runs', async ({ skip }) => {
      const space = await start(skip)
      const p = 90_000
      await space.queue('q', { autoDeleteOnIdle: p })
      await space.queue('other', { autoDeleteOnIdle: 2 * p })
      await space.at(0.5 * p)
      await stopFor(space, p)
      expect(await rejection(space.entity('q').send('a'))).toBe(GONE)
      expect((await space.broker.listQueues()).map(({ name }) => name)).toEqual(['other'])
      await space.at(1.9 * p)
      expect(await rejection(space.broker.getQueue('other'))).toBe('none')
    })

    test('EXP-32 expiry goes on while nobody runs, to the millisecond', async ({ skip }) => {
      const space = await start(skip)
      const queue = await space.queue('q', { deadLetteringOnMessageExpiration: true })
      await queue.send({ body: 'a', timeToLive: 5000 }, { body: 'b', timeToLive: 5001 })
      await space.at(1000)
      await stopFor(space, 4000)
      expect(bodies(await space.entity('q').receive())).toEqual(['b'])
      expect(bodies(await space.entity('q').dead())).toEqual(['a'])
    })

    test('SET-16 SET-02 SET-05 locks, counts and deferred messages are durable', async ({
      skip,
    }) => {
      const space = await start(skip)
      const queue = await space.queue('q', { lockDuration: 10_000 })
      await queue.send('abandoned', 'deferred', 'locked', 'times out', 'dead')
      const [abandoned, deferred, locked, , dead] = await queue.receive()
      const { receiver } = queue
      await receiver.abandonMessage(abandoned ?? {}, { tries: 1 })
      await receiver.deferMessage(deferred ?? {})
      await receiver.deadLetterMessage(dead ?? {}, { deadLetterReason: 'mine' })
      await stopFor(space, 4000)
      const again = space.entity('q')
      const first = await again.receiveOne()
      expect(first).toMatchObject({ body: 'abandoned', deliveryCount: 1 })
      expect(first.applicationProperties).toEqual({ tries: 1 })
      await again.receiver.completeMessage(locked ?? {})
      const numbers = [deferred?.sequenceNumber ?? 0]
      expect(bodies(await again.receiver.receiveDeferredMessages(numbers))).toEqual(['deferred'])
      expect((await again.deadOne()).deadLetterReason).toBe('mine')
      await space.at(9999)
      expect(await again.receive()).toEqual([])
      await space.at(10_000)
      expect(await again.receiveOne()).toMatchObject({ body: 'times out', deliveryCount: 1 })
    })

    test('SCH-01 SCH-04 schedules are durable', async ({ skip }) => {
      const space = await start(skip)
      const queue = await space.queue('q')
      const at = new Date(space.startMs + 5000)
      const [, second] = await queue.sender.scheduleMessages([{ body: 'a' }, { body: 'b' }], at)
      await stopFor(space, 1000)
      const again = space.entity('q')
      await again.sender.cancelScheduledMessages(second ?? 0)
      expect(await again.receive()).toEqual([])
      await stopFor(space, 10_000)
      const message = await space.entity('q').receiveOne()
      expect([message.body, message.enqueuedTimeUtc]).toEqual(['a', at])
    })

    test('SES-13 SES-11 states and locks of sessions are durable', async ({ skip }) => {
      const space = await start(skip)
      const queue = await space.queue('q', { requiresSession: true, lockDuration: 10_000 })
      await queue.send({ body: 'a', sessionId: 'A' }, { body: 'b', sessionId: 'A' })
      const a = await queue.accept('A')
      await a.setSessionState(new Uint8Array([1, 2]))
      only(await receiveNow(a, 1))
      await stopFor(space, 1000)
      // Closing gave the session back, and counted nothing.
      const again = await space.entity('q').accept('A')
      expect(await again.getSessionState()).toEqual(new Uint8Array([1, 2]))
      const messages = await receiveNow(again)
      expect(messages.map(({ body, deliveryCount }) => [body, deliveryCount])).toEqual([
        ['a', 0],
        ['b', 0],
      ])
    })

    test('SET-10 SET-18 TOP-02 ids, numbers and rules are durable', async ({ skip }) => {
      const space = await start(skip)
      await space.topic('t', { requiresDuplicateDetection: true })
      const copy = await space.subscription('t', 's', {
        rules: [{ name: 'r', filter: { sqlExpression: 'n = 1' } }],
      })
      const properties = { applicationProperties: { n: 1 } }
      await copy.send({ body: 'a', messageId: '1', ...properties })
      await stopFor(space, 1000)
      const again = space.entity({ topic: 't', subscription: 's' })
      await again.send({ body: 'b', messageId: '1', ...properties })
      await again.send({ body: 'c', messageId: '2', ...properties }, { body: 'd', messageId: '3' })
      const messages = await again.peek()
      expect(messages.map(({ body, sequenceNumber }) => [body, sequenceNumber])).toEqual([
        ['a', 1],
        ['c', 2],
      ])
    })

    test('EXP-18 a stop in the middle of a sweep leaves each message in one place', async ({
      skip,
    }) => {
      const space = await start(skip)
      const queue = await space.queue('q', { deadLetteringOnMessageExpiration: true })
      const names = Array.from({ length: 3000 }, (_, n) => `m${n}`)
      await queue.send(...names.map((body) => ({ body, timeToLive: 900 })))
      await space.at(1600)
      const listeners = [queue.attach(), queue.attach(), queue.attach()]
      const sweeps = listeners.map((each) => receiveNow(each).catch(() => []))
      await space.stopNow()
      expect((await Promise.all(sweeps)).flat()).toEqual([])
      await space.restart()
      const again = space.entity('q')
      expect(await again.receive()).toEqual([])
      // Another transaction of the broker may have the last ones.
      await space.settled()
      expect(await again.peek()).toEqual([])
      const dead = await again.drainDead()
      expect(sortedBodies(dead)).toEqual(names.toSorted())
      const numbers = dead.map(({ sequenceNumber }) => sequenceNumber)
      expect(numbers).toEqual(names.map((_, index) => index + 1))
    })
  })
}
