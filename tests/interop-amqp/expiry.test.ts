import { describe, expect, test } from 'vitest'
import { enqueuedOf, expiryOf } from './client-entity.ts'
import { Namespace } from './interop-amqp.fixture.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DEAD = { deadLetteringOnMessageExpiration: true }

describe('Expiry on the wire', () => {
  test('EXP-26 a receiver that has no credit is a listener', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    expect(await queue.receiveNow()).toEqual([])
    await queue.send({ body: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(2 * MINUTE_MS)
    await queue.settlesAt({ here: [], dead: ['a'] })
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

  test('EXP-12 without any time to live a message never expires', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    expect(message.timeToLive).toBeUndefined()
    expect(message.expiresAtUtc?.getUTCFullYear()).toBeGreaterThan(9000)
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
})
