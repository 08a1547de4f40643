import { describe, expect, it } from 'vitest'
import type { MessageSender } from './message-sender.ts'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const AT_ONCE = { maxWaitTimeInMs: 0 }

async function withQueue(): Promise<{ world: SimulatedBroker; sender: MessageSender }> {
  const world = await SimulatedBroker.open()
  await world.broker.createQueue('q', { maxMessageSizeInKilobytes: 1 })
  return { world, sender: world.broker.createSender('q') }
}

async function bodiesOf(world: SimulatedBroker, entity = 'q'): Promise<readonly unknown[]> {
  const messages = await world.broker.createReceiver(entity).receiveMessages(100, AT_ONCE)
  return messages.map(({ body }) => body)
}

describe('MessageSender', () => {
  it('SET-20 refuses messages that are too large together, and sends none of them', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    const half = { body: 'x'.repeat(600) }
    await expect(sender.sendMessages([half, half])).rejects.toMatchObject({
      code: 'ERR_MESSAGE_SIZE_EXCEEDED',
    })
    const large = { body: '', applicationProperties: { p: 'x'.repeat(1024) } }
    await expect(sender.sendMessages(large)).rejects.toMatchObject({
      code: 'ERR_MESSAGE_SIZE_EXCEEDED',
    })
    expect(await bodiesOf(world)).toEqual([])
  })

  it('collects a batch up to the largest size', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    const batch = await sender.createMessageBatch()
    expect(batch.maxSizeInBytes).toBe(1024)
    let n = 0
    while (batch.tryAddMessage({ body: n })) n += 1
    expect(batch.count).toBe(n)
    expect(batch.sizeInBytes).toBeLessThanOrEqual(1024)
    await sender.sendMessages(batch)
    expect(await bodiesOf(world)).toEqual([...Array(n).keys()])
    for (const maxSizeInBytes of [0, -1, 1025, Number.NaN]) {
      await expect(sender.createMessageBatch({ maxSizeInBytes })).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
      })
    }
  })

  it('SET-20 puts no more copies into one command than a transaction takes', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createTopic('t', { maxMessageSizeInKilobytes: 100 })
    const rules = Array.from({ length: 200 }, (_, n) => ({
      name: `r${n}`,
      action: { sqlExpression: 'SET x = 1' },
    }))
    await world.broker.createSubscription({ topic: 't', subscription: 's' }, { rules })
    const sender = world.broker.createSender('t')
    await sender.sendMessages([])
    const messages = (count: number) => Array.from({ length: count }, (_, body) => ({ body }))
    world.taken()
    await Promise.all([1, 2, 3].map(() => sender.sendMessages(messages(20))))
    expect(world.taken()).toEqual(['send', 'send'])
    // All in one command, because nobody is refused for the rules of others.
    await sender.sendMessages(messages(51))
    const at = new Date(world.clock.wallMs() + 1000)
    await sender.scheduleMessages(messages(30), at)
    await sender.scheduleMessages(messages(30), at)
    await world.pass(1000)
    world.taken()
    const { activeMessageCount } = await world.broker.getSubscriptionRuntimeProperties({
      topic: 't',
      subscription: 's',
    })
    expect(activeMessageCount).toBe((3 * 20 + 51 + 60) * 200)
    expect(world.taken().filter((call) => call === 'activate')).toHaveLength(2)
  })

  it('SET-20 refuses messages that have too many copies without any action', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createTopic('t')
    for (let n = 0; n < 20; n++) {
      await world.broker.createSubscription({ topic: 't', subscription: `s${n}` })
    }
    const messages = Array.from({ length: 501 }, (_, body) => ({ body }))
    await expect(world.broker.createSender('t').sendMessages(messages)).rejects.toMatchObject({
      code: 'ERR_MESSAGE_SIZE_EXCEEDED',
      message: expect.stringContaining('copies'),
    })
  })

  it('sends calls that are made at once as one command, each with its own answer', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    await sender.sendMessages({ body: 'first' })
    world.taken()
    const sent = [1, 2, 3].map((body) => sender.sendMessages({ body }))
    const refused = sender.sendMessages({ body: 'x'.repeat(2000) })
    await expect(refused).rejects.toMatchObject({ code: 'ERR_MESSAGE_SIZE_EXCEEDED' })
    await Promise.all(sent)
    expect(world.taken()).toEqual(['send'])
    expect(await bodiesOf(world)).toEqual(['first', 1, 2, 3])
  })

  it('asks the store only for the send', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    await world.broker.createTopic('t')
    await world.broker.createSubscription({ topic: 't', subscription: 's' })
    world.taken()
    await sender.sendMessages({ body: 1 })
    await world.broker.createSender('t').sendMessages({ body: 1 })
    await world.settled()
    expect(world.taken()).toEqual(['send', 'send'])
  })

  it('takes out what is aborted before it is sent', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    const abort = new AbortController()
    const aborted = sender.sendMessages({ body: 1 }, { signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await expect(sender.sendMessages({ body: 2 }, { signal: abort.signal })).rejects.toThrow(
      'enough',
    )
    expect(await bodiesOf(world)).toEqual([])
  })

  it('SCH-04 names the number that cannot be cancelled, and cancels none', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    const at = new Date(world.clock.wallMs() + 1000)
    const numbers = await sender.scheduleMessages([{ body: 1 }, { body: 2 }], at)
    expect(numbers).toEqual([1, 2])
    await expect(sender.cancelScheduledMessages([1, 77])).rejects.toMatchObject({
      code: 'ERR_MESSAGE_NOT_FOUND',
      sequenceNumber: 77,
    })
    await sender.cancelScheduledMessages(1)
    await world.pass(1000)
    expect(await bodiesOf(world)).toEqual([2])
  })

  it('SET-15 refuses where nobody can send to', async () => {
    const { world } = await withQueue()
    await using _ = world
    const { broker } = world
    await broker.createTopic('t')
    await broker.createSubscription({ topic: 't', subscription: 's' })
    for (const path of ['q/$DeadLetterQueue', 't/Subscriptions/s']) {
      await expect(broker.createSender(path).sendMessages({ body: 1 })).rejects.toMatchObject({
        code: 'ERR_MESSAGING_NOT_ALLOWED',
      })
    }
    await expect(broker.createSender('x').sendMessages({ body: 1 })).rejects.toMatchObject({
      code: 'ERR_MESSAGING_ENTITY_NOT_FOUND',
      message: "The messaging entity 'x' could not be found.",
    })
  })

  it('finds an entity again that another broker has deleted and created', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    await sender.sendMessages({ body: 1 })
    const other = world.another()
    await other.deleteQueue('q')
    await expect(sender.sendMessages({ body: 2 })).rejects.toMatchObject({
      code: 'ERR_MESSAGING_ENTITY_NOT_FOUND',
    })
    await other.createQueue('Q')
    await sender.sendMessages({ body: 3 })
    expect(await bodiesOf(world)).toEqual([3])
  })

  it('TOP-07 judges by the rules of now, whoever has changed them', async () => {
    await using world = await SimulatedBroker.open()
    const name = { topic: 't', subscription: 's' }
    await world.broker.createTopic('t')
    await world.broker.createSubscription(name)
    const sender = world.broker.createSender('t')
    await sender.sendMessages({ body: 1 })
    const other = world.another()
    await other.deleteRule(name, '$Default')
    await sender.sendMessages({ body: 2 })
    await other.createRule(name, { name: 'r', filter: { sqlExpression: "sys.Label = 'x'" } })
    await sender.sendMessages([{ body: 3 }, { body: 4, subject: 'x' }])
    expect(await bodiesOf(world, 't/Subscriptions/s')).toEqual([1, 4])
  })

  it('refuses after it, or its broker, was closed', async () => {
    const { world, sender } = await withQueue()
    await using _ = world
    const closed = { code: 'ERR_LINK_CLOSED' }
    await sender.close()
    await sender.close()
    await expect(sender.sendMessages({ body: 1 })).rejects.toMatchObject(closed)
    await expect(sender.scheduleMessages({ body: 1 }, new Date())).rejects.toMatchObject(closed)
    await expect(sender.cancelScheduledMessages(1)).rejects.toMatchObject(closed)
    await expect(sender.createMessageBatch()).rejects.toMatchObject(closed)

    const other = world.another()
    const second = other.createSender('q')
    const sent = second.sendMessages({ body: 2 })
    await other.close()
    await sent
    await expect(second.sendMessages({ body: 3 })).rejects.toMatchObject(closed)
    await expect(other.listQueues()).rejects.toMatchObject(closed)
    expect(await bodiesOf(world)).toEqual([2])
  })

  it.each([undefined, 'soon', 5, new Date(Number.NaN)])(
    'refuses %s as the time of a schedule',
    async (at) => {
      const { world, sender } = await withQueue()
      await using _ = world
      await expect(sender.scheduleMessages({ body: 1 }, at as never)).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
      })
    },
  )
})
