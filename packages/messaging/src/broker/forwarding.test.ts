import { describe, expect, it } from 'vitest'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const AT_ONCE = { maxWaitTimeInMs: 0 }

async function bodiesOf(world: SimulatedBroker, entity: string): Promise<readonly unknown[]> {
  const messages = await world.broker.createReceiver(entity).receiveMessages(100, AT_ONCE)
  return messages.map(({ body }) => body)
}

describe('forwarding', () => {
  it('SET-13 begins at once after the send, and the broker waits for it when it closes', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('c')
    await world.broker.createQueue('b', { forwardTo: 'c' })
    await world.broker.createQueue('a', { forwardTo: 'b' })
    const other = world.another()
    await other.createSender('a').sendMessages({ body: 1 })
    await other.close()
    world.taken()
    expect(await bodiesOf(world, 'c')).toEqual([1])
    expect(world.taken()).not.toContain('forward')
  })

  it('SET-14 dead letters of a forwarding that fails go on at once', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('c')
    await world.broker.createQueue('b')
    await world.broker.createQueue('a', { forwardTo: 'b', forwardDeadLetteredMessagesTo: 'c' })
    await world.broker.updateQueue('b', { status: 'Disabled' })
    const other = world.another()
    await other.createSender('a').sendMessages({ body: 1 })
    await other.close()
    world.taken()
    expect(await bodiesOf(world, 'c')).toEqual([1])
    expect(world.taken()).not.toContain('forward')
  })

  it('SCH-09 SET-13 what is activated in a subscription that forwards goes on at once', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('c')
    await broker.createTopic('t')
    await broker.createSubscription({ topic: 't', subscription: 'r' })
    await broker.createSubscription({ topic: 't', subscription: 's' }, { forwardTo: 'c' })
    const at = new Date(world.clock.wallMs() + 1000)
    await broker.createSender('t').scheduleMessages({ body: 1 }, at)
    await world.pass(1000)
    const other = world.another()
    await other.createReceiver({ topic: 't', subscription: 'r' }).peekMessages(1)
    await other.close()
    world.taken()
    expect(await bodiesOf(world, 'c')).toEqual([1])
    expect(world.taken()).not.toContain('forward')
  })

  it('SET-13 is caught up on by whoever looks at the destination', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('b')
    await world.broker.createQueue('a')
    await world.broker.createSender('a').sendMessages([{ body: 1 }, { body: 2 }])
    await world.another().updateQueue('a', { forwardTo: 'b' })
    await world.broker.updateQueue('b', { userMetadata: 'x' })
    expect(await bodiesOf(world, 'b')).toEqual([1, 2])
  })

  it('SCH-09 SET-13 counts of the destination include what comes to it', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createTopic('t')
    await broker.createSubscription({ topic: 't', subscription: 's' })
    await broker.createQueue('b')
    await broker.createQueue('a')
    await broker.createSender('a').sendMessages({ body: 1 })
    await broker.updateQueue('a', { forwardTo: 'b' })
    const at = new Date(world.clock.wallMs() + 1000)
    await broker.createSender('t').scheduleMessages({ body: 2 }, at)
    await world.pass(1000)
    const queue = await broker.getQueueRuntimeProperties('b')
    const name = { topic: 't', subscription: 's' }
    const subscription = await broker.getSubscriptionRuntimeProperties(name)
    expect([queue.activeMessageCount, subscription.activeMessageCount]).toEqual([1, 1])
  })

  it('SET-13 two that forward to each other end in a dead-letter queue', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('a')
    await world.broker.createQueue('b', { forwardTo: 'a' })
    await world.broker.updateQueue('a', { forwardTo: 'b' }).catch(() => undefined)
    await world.broker.createSender('b').sendMessages({ body: 1 })
    await world.settled()
    const dead = await Promise.all(
      ['a', 'b'].map((queue) => bodiesOf(world, `${queue}/$DeadLetterQueue`)),
    )
    const { forwardTo } = await world.broker.getQueue('a')
    expect(dead.flat()).toEqual(forwardTo === undefined ? [] : [1])
  })

  it('SET-13 SET-18 moves each message once and in order, whoever forwards', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('b')
    await world.broker.createQueue('a')
    const bodies = [...Array(250).keys()]
    await world.broker.createSender('a').sendMessages(bodies.map((body) => ({ body })))
    await world.broker.updateQueue('a', { forwardTo: 'b' })
    const brokers = [world.broker, world.another(), world.another()]
    await Promise.all(brokers.map((broker) => broker.createReceiver('b').peekMessages(1)))
    const messages = await world.broker.createReceiver('b').receiveMessages(1000, AT_ONCE)
    expect(messages.map(({ body }) => body)).toEqual(bodies)
    expect(messages.map(({ sequenceNumber }) => sequenceNumber)).toEqual(bodies.map((n) => n + 1))
  })

  it('SCH-09 activates each message of a topic once, whoever does it', async () => {
    await using world = await SimulatedBroker.open()
    const names = ['r', 's'].map((subscription) => ({ topic: 't', subscription }))
    await world.broker.createTopic('t')
    for (const name of names) await world.broker.createSubscription(name)
    const bodies = [...Array(250).keys()]
    const at = new Date(world.clock.wallMs() + 1000)
    const sender = world.broker.createSender('t')
    await sender.scheduleMessages(
      bodies.map((body) => ({ body })),
      at,
    )
    await world.pass(1000)
    const brokers = [world.broker, world.another(), world.another()]
    await Promise.all(brokers.map((broker) => broker.createReceiver(names[0]!).peekMessages(1)))
    for (const name of names) {
      const receiver = world.broker.createReceiver(name)
      const messages = await receiver.receiveMessages(1000, AT_ONCE)
      expect(messages.map(({ body }) => body)).toEqual(bodies)
    }
  })

  it('SET-14 dead letters that can go nowhere stay, and go on when the destination is there', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('b')
    await broker.createQueue('a', { forwardDeadLetteredMessagesTo: 'b' })
    await broker.updateQueue('b', { status: 'Disabled' })
    await broker.createSender('a').sendMessages({ body: 1 })
    const receiver = broker.createReceiver('a')
    const [message] = await receiver.receiveMessages(1, AT_ONCE)
    await receiver.deadLetterMessage(message!)
    await world.settled()
    const dead = broker.createReceiver('a', { subQueueType: 'deadLetter' })
    expect(await dead.peekMessages(10)).toMatchObject([{ body: 1 }])
    await broker.updateQueue('b', { status: 'Active' })
    expect(await bodiesOf(world, 'b')).toEqual([1])
    expect(await dead.peekMessages(10, { fromSequenceNumber: 0 })).toEqual([])
  })

  it('SET-14 a loop of dead letters that nobody reads ends, and is reported', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    for (const name of ['a', 'b']) await broker.createQueue(name)
    await broker.createQueue('c', { forwardTo: 'a', forwardDeadLetteredMessagesTo: 'b' })
    for (const name of ['a', 'b']) {
      await broker.updateQueue(name, { forwardTo: 'c', forwardDeadLetteredMessagesTo: 'c' })
    }
    await broker.createSender('a').sendMessages({ body: 1 })
    await world.settled()
    expect(world.stuck).toMatchObject([{ count: 1 }])
    const [{ entityPath } = { entityPath: '' }] = world.stuck
    expect(await bodiesOf(world, `${entityPath}/$DeadLetterQueue`)).toEqual([1])
  })
})
