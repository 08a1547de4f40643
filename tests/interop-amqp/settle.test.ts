import { describe, expect, test } from 'vitest'
import { bodies, only, receive, receiveOne, fieldsOf } from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const BOTH = ['queue', 'subscription'] as const
const MINUTE_MS = 60_000
const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('Settling', () => {
  test.each(BOTH)('SET-01 completing removes the message (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send('a')
    const message = await entity.receiveOne()
    expect(message.lockToken).toMatch(GUID)
    await entity.receiver.completeMessage(message)
    expect(await entity.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-01 a delivery is locked for the lock duration', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT2M' })
    const before = space.clock.wallMs()
    await queue.send('a')
    const { lockedUntilUtc } = await queue.receiveOne()
    const after = space.clock.wallMs()
    expect(lockedUntilUtc?.getTime()).toBeGreaterThanOrEqual(before + 2 * MINUTE_MS)
    expect(lockedUntilUtc?.getTime()).toBeLessThanOrEqual(after + 2 * MINUTE_MS)
  })

  test('SET-01 a locked message is delivered to nobody else', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    expect(bodies(await queue.receive(1))).toEqual(['a'])
    const other = queue.through(space.connect())
    expect(bodies(await other.receiveNow())).toEqual(['b'])
  })

  test('SET-01 lock tokens of two deliveries differ', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const first = await queue.receiveOne()
    await queue.receiver.abandonMessage(first)
    const second = await queue.receiveOne()
    expect(second.lockToken).not.toBe(first.lockToken)
  })

  test.each(BOTH)('SET-02 abandoning puts the message in front again (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send('a', 'b')
    const message = await entity.receiveOne()
    expect([message.body, message.deliveryCount]).toEqual(['a', 0])
    await entity.receiver.abandonMessage(message)
    const again = await entity.receive(2)
    expect(fieldsOf(again, 'body', 'deliveryCount')).toEqual([
      ['a', 1],
      ['b', 0],
    ])
  })

  test('SET-02 abandoning can change application properties', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: { a: 1 }, applicationProperties: { kept: 1, changed: 'old' } })
    const added = { changed: 'new', n: 2.5, flag: true }
    await queue.receiver.abandonMessage(await queue.receiveOne(), added)
    const { body, applicationProperties } = await queue.receiveOne()
    expect(body).toEqual({ a: 1 })
    expect(applicationProperties).toEqual({ kept: 1, ...added })
  })

  test('SET-02 a date among changed properties stays one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const at = new Date('2026-01-02T03:04:05.006Z')
    await queue.receiver.abandonMessage(await queue.receiveOne(), { at })
    const receiver = queue.open({ skipConvertingDate: true })
    expect((await receiveOne(receiver)).applicationProperties?.['at']).toEqual(at)
  })

  test.each(BOTH)(
    'SET-03 after the largest delivery count it is dead-lettered (%s)',
    async (kind) => {
      await using space = await Namespace.open()
      const entity = await space.receiving(kind, { maxDeliveryCount: 3 })
      await entity.send('a')
      for (const expected of [0, 1, 2]) {
        const message = await entity.receiveOne()
        expect(message.deliveryCount).toBe(expected)
        await entity.receiver.abandonMessage(message)
      }
      await entity.settlesAt({ here: [], dead: ['a'] })
      const dead = only(await entity.peekDead())
      expect(dead.deadLetterReason).toBe('MaxDeliveryCountExceeded')
      expect(dead.deadLetterErrorDescription).toBe(
        'Message could not be consumed after 3 delivery attempts.',
      )
    },
  )

  test('SET-03 locks that time out count as deliveries', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxDeliveryCount: 2, lockDuration: 'PT1M' })
    await queue.send('a')
    for (const expected of [0, 1]) {
      expect((await queue.receiveOne()).deliveryCount).toBe(expected)
      space.clock.jump(61_000)
    }
    await queue.settlesAt({ here: [], dead: ['a'] })
  })

  test('SET-03 the default of the largest delivery count is ten', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    for (let delivery = 0; delivery < 10; delivery += 1) {
      await queue.receiver.abandonMessage(await queue.receiveOne())
    }
    await queue.settlesAt({ here: [], dead: ['a'] })
  })

  test('SET-06 completing after the lock has ended fails, and the next delivery counts one more', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const message = await queue.receiveOne()
    space.clock.jump(61_000)
    expect(await codeOf(queue.receiver.completeMessage(message))).toBe('MessageLockLost')
    expect(await queue.receiveOne()).toMatchObject({ body: 'a', deliveryCount: 1 })
  })

  test.each(['abandon', 'defer', 'dead-letter', 'renew'] as const)(
    'SET-06 after the lock has ended the receiver cannot %s',
    async (action) => {
      await using space = await Namespace.open()
      const queue = await space.queue({ lockDuration: 'PT1M' })
      await queue.send('a')
      const message = await queue.receiveOne()
      space.clock.jump(61_000)
      const { receiver } = queue
      const call = {
        abandon: () => receiver.abandonMessage(message),
        defer: () => receiver.deferMessage(message),
        'dead-letter': () => receiver.deadLetterMessage(message),
        renew: () => receiver.renewMessageLock(message),
      }[action]
      expect(await codeOf(call())).toBe('MessageLockLost')
      await queue.settlesAt({ here: ['a'], dead: [] })
      expect((await queue.peekOne()).state).toBe('active')
    },
  )

  test('SET-06 the receiver goes on after a lock was lost', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const message = await queue.receiveOne()
    space.clock.jump(61_000)
    expect(await codeOf(queue.receiver.completeMessage(message))).toBe('MessageLockLost')
    await queue.receiver.completeMessage(await queue.receiveOne())
    expect(await queue.peek()).toEqual([])
  })

  test('SET-06 a message that was settled cannot be settled again', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.completeMessage(message)
    const { message: text } = await refusal(queue.receiver.abandonMessage(message))
    expect(text).toContain('already settled')
  })

  test('SET-07 renewing moves the end of the lock, any number of times', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const message = await queue.receiveOne()
    for (let renewal = 0; renewal < 4; renewal += 1) {
      space.clock.jump(40_000)
      const before = space.clock.wallMs()
      const until = await queue.receiver.renewMessageLock(message)
      expect(until.getTime()).toBeGreaterThanOrEqual(before + MINUTE_MS)
      expect(message.lockedUntilUtc).toEqual(until)
    }
    await queue.receiver.completeMessage(message)
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-07 the client renews by itself while it works on a message', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 3000 })
    await queue.send('a')
    const message = await queue.receiveOne()
    const first = message.lockedUntilUtc?.getTime() ?? 0
    await expect.poll(() => message.lockedUntilUtc?.getTime() ?? 0).toBeGreaterThan(first)
    await queue.receiver.completeMessage(message)
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-07 a client that is told not to renew loses the lock', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 500 })
    await queue.send('a')
    const receiver = queue.open({ maxAutoLockRenewalDurationInMs: 0 })
    const message = await receiveOne(receiver)
    await expect.poll(async () => (await queue.peekOne()).deliveryCount).toBe(1)
    expect(await codeOf(receiver.completeMessage(message))).toBe('MessageLockLost')
  })

  test('SET-16 closing the receiver does not release its messages', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const receiver = queue.open()
    await receiveOne(receiver)
    await receiver.close()
    expect(await queue.receiveNow()).toEqual([])
    space.clock.jump(61_000)
    expect(await queue.receiveOne()).toMatchObject({ body: 'a', deliveryCount: 1 })
  })

  test.each(['complete', 'abandon', 'defer', 'dead-letter'] as const)(
    'SET-16 another receiver of the client can %s by the lock token',
    async (action) => {
      await using space = await Namespace.open()
      const queue = await space.queue()
      await queue.send('a')
      const first = queue.open()
      const message = await receiveOne(first)
      await first.close()
      const { receiver } = queue
      const call = {
        complete: () => receiver.completeMessage(message),
        abandon: () => receiver.abandonMessage(message, { changed: true }),
        defer: () => receiver.deferMessage(message),
        'dead-letter': () =>
          receiver.deadLetterMessage(message, {
            deadLetterReason: 'late',
            deadLetterErrorDescription: 'closed before',
          }),
      }[action]
      await call()
      const dead = await queue.peekDead()
      const here = await queue.peek()
      const seen = [...here, ...dead].map(({ state, deadLetterReason }) => [
        state,
        deadLetterReason,
      ])
      const wanted = {
        complete: [],
        abandon: [['active', undefined]],
        defer: [['deferred', undefined]],
        'dead-letter': [['active', 'late']],
      }[action]
      expect(seen).toEqual(wanted)
      if (action === 'abandon') {
        expect((await queue.receiveOne()).applicationProperties).toMatchObject({ changed: true })
      }
    },
  )

  test('SET-16 after its lock has ended the token settles nothing', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const first = queue.open()
    const message = await receiveOne(first)
    await first.close()
    space.clock.jump(61_000)
    expect(await codeOf(queue.receiver.completeMessage(message))).toBe('MessageLockLost')
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SET-19 a hundred messages that are completed at once are gone', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...Array.from({ length: 100 }, (_, index) => `m${index}`))
    const messages = await queue.receive(100)
    // In one kind: rhea, which the client uses, gives two neighbours of different kinds the first one's outcome.
    await Promise.all(messages.map((message) => queue.receiver.completeMessage(message)))
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-06 of two settlements at once, each has its own end', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a', 'b', 'c', 'd')
    const messages = await queue.receive(4)
    space.clock.jump(40_000)
    // The second and the third keep their locks.
    for (const message of messages.slice(1, 3)) await queue.receiver.renewMessageLock(message)
    space.clock.jump(40_000)
    const ends = await Promise.all(
      messages.map((message) =>
        queue.receiver.completeMessage(message).then(
          () => 'completed',
          (error: unknown) => String(Reflect.get(Object(error), 'code')),
        ),
      ),
    )
    expect(ends).toEqual(['MessageLockLost', 'completed', 'completed', 'MessageLockLost'])
    expect(bodies(await queue.peek())).toEqual(['a', 'd'])
  })

  test('SET-08 a message that is received and deleted cannot be settled', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const receiver = queue.open({ receiveMode: 'receiveAndDelete' })
    const message = only(await receive(receiver, 1))
    expect(message.lockToken).toBeUndefined()
    await expect(receiver.completeMessage(message)).rejects.toThrow('receiveAndDelete')
  })
})
