import { describe, expect, it } from 'vitest'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

describe('MessageFront', () => {
  it('SET-09 peeks a session that another receiver holds, and as many bytes as it is told', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { requiresSession: true })
    await broker
      .createSender('q')
      .sendMessages(['a', 'b', 'a'].map((sessionId) => ({ body: 'x'.repeat(100), sessionId })))
    await using _held = await broker.acceptSession('q', 'a')
    const numbers = async (session: string | undefined, maxBytes: number) => {
      const request = { session, fromNumber: 1, max: 10, maxBytes }
      return (await broker.front().peek('q', request)).map(({ number }) => number)
    }
    expect(await numbers('a', 10_000)).toEqual([1, 3])
    expect(await numbers(undefined, 10_000)).toEqual([1, 2, 3])
    expect(await numbers(undefined, 1)).toEqual([1])
  })

  it('peeks the scheduled messages of a topic', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createTopic('t')
    const at = new Date(world.clock.wallMs() + 60_000)
    await broker.createSender('t').scheduleMessages({ body: 'later' }, at)
    const request = { session: undefined, fromNumber: 1, max: 10, maxBytes: 1000 }
    expect(await broker.front().peek('t', request)).toHaveLength(1)
  })

  it('SET-05 receives deferred messages in another mode than the link, and not too many bytes at once', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q')
    await broker.createSender('q').sendMessages([{ body: 'a' }, { body: 'b' }])
    await using receiver = broker.createReceiver('q')
    for (const message of await receiver.receiveMessages(2)) await receiver.deferMessage(message)
    const link = broker.front().openLink('q', 'peekLock')
    await expect(link.receiveDeferred([1, 2], { maxBytes: 10 })).rejects.toMatchObject({
      code: 'ERR_MESSAGE_SIZE_EXCEEDED',
    })
    const [taken] = await link.receiveDeferred([1], { mode: 'receiveAndDelete', maxBytes: 10 })
    expect(taken?.lock).toBeUndefined()
    expect((await receiver.peekMessages(5)).map(({ body }) => body)).toEqual(['b'])
  })
})
