import { describe, expect, test } from 'vitest'
import { bodies, receiveOne } from './client-entity.ts'
import { Namespace } from './interop-amqp.fixture.ts'

describe('Settling', () => {
  test('SET-02 a date among changed properties stays one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const at = new Date('2026-01-02T03:04:05.006Z')
    await queue.receiver.abandonMessage(await queue.receiveOne(), { at })
    const receiver = queue.open({ skipConvertingDate: true })
    expect((await receiveOne(receiver)).applicationProperties?.['at']).toEqual(at)
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
})
