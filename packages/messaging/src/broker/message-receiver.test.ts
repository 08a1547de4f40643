import { describe, expect, it } from 'vitest'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const AT_ONCE = { maxWaitTimeInMs: 0 }

async function withQueue(): Promise<SimulatedBroker> {
  const world = await SimulatedBroker.open()
  await world.broker.createQueue('q', { lockDuration: 'PT10S', maxDeliveryCount: 3 })
  return world
}

async function send(world: SimulatedBroker, ...bodies: readonly unknown[]): Promise<void> {
  await world.broker.createSender('q').sendMessages(bodies.map((body) => ({ body })))
}

describe('MessageReceiver', () => {
  it('gives the others of a damaged message, which is dead-lettered in the end', async () => {
    await using world = await withQueue()
    await world.broker.createQueue('next')
    await world.broker.createQueue('first', { forwardTo: 'next' })
    await world.broker.createTopic('t')
    await world.broker.createSubscription({ topic: 't', subscription: 's' })
    await send(world, 'a')
    const messages = await world.database.openMessages()
    const { entities } = await messages.readCatalog()
    const numberOf = (path: string): number =>
      entities.find((entity) => entity.path === path)?.number ?? 0
    const given = { session: undefined, ttlMs: undefined, copies: [] }
    const damaged = { ...given, head: '{', body: new Uint8Array(), bytes: 1, messageId: 'x' }
    const atMs = world.clock.wallMs() + 1000
    await world.broker.createSender('t').scheduleMessages({ body: 'c' }, new Date(atMs))
    for (const path of ['q', 'first', 't']) {
      const scheduledMs = path === 't' ? atMs : undefined
      await messages.perform<'send'>(
        {
          kind: 'send',
          entity: numberOf(path),
          touch: false,
          version: 1,
          parcels: [{ messages: [{ ...damaged, scheduledMs }] }],
        },
        { lockMs: undefined },
      )
    }
    const receiver = world.broker.createReceiver('q')
    expect(await receiver.peekMessages(5)).toMatchObject([{ body: 'a' }])
    const [a] = await receiver.receiveMessages(5, AT_ONCE)
    expect(a?.body).toBe('a')
    await receiver.completeMessage(a ?? { lockToken: '' })
    const isDamaged = { code: 'ERR_STORE_DAMAGED', message: expect.stringContaining('message 2') }
    for (const _ of [2, 3]) {
      await world.pass(10_000)
      await expect(receiver.receiveMessages(5, AT_ONCE)).rejects.toMatchObject(isDamaged)
    }
    await world.pass(10_000)
    expect(await receiver.receiveMessages(5, AT_ONCE)).toEqual([])
    const counted = await world.broker.getQueueRuntimeProperties('q')
    expect(counted).toMatchObject({ activeMessageCount: 0, deadLetterMessageCount: 1 })
    await world.broker.createSender('first').sendMessages({ body: 'b' })
    await world.settled()
    expect(await world.broker.createReceiver('next').receiveMessages(5, AT_ONCE)).toMatchObject([
      { body: 'b' },
    ])
    const source = await world.broker.getQueueRuntimeProperties('first')
    expect(source.deadLetterMessageCount).toBe(1)
    const subscriber = world.broker.createReceiver({ topic: 't', subscription: 's' })
    expect(await subscriber.receiveMessages(5, AT_ONCE)).toMatchObject([{ body: 'c' }])
  })

  it('waits for the first message, then a little for more', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver<string>('q')
    const waiting = receiver.receiveMessages(3, { maxTimeAfterFirstMessageInMs: 500 })
    await world.pass(5_000)
    await send(world, 'a')
    await world.pass(400)
    await send(world, 'b')
    await world.pass(50)
    await send(world, 'c')
    expect((await waiting).map(({ body }) => body)).toEqual(['a', 'b', 'c'])
    const shorter = receiver.receiveMessages(3, { maxTimeAfterFirstMessageInMs: 500 })
    await send(world, 'd')
    await world.pass(499)
    await world.pass(1)
    expect((await shorter).map(({ body }) => body)).toEqual(['d'])
  })

  it('finds an entity again that was deleted and created anew', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver('q')
    expect(await receiver.receiveMessages(1, AT_ONCE)).toEqual([])
    await world.broker.deleteQueue('q')
    const gone = { code: 'ERR_MESSAGING_ENTITY_NOT_FOUND' }
    await expect(receiver.receiveMessages(1, AT_ONCE)).rejects.toMatchObject(gone)
    await world.broker.createQueue('q')
    const waiting = receiver.receiveMessages(1)
    await world.settled()
    await send(world, 'a')
    expect(await waiting).toMatchObject([{ body: 'a', sequenceNumber: 1 }])
  })

  it('resolves with nothing when the time is up', async () => {
    await using world = await withQueue()
    const waiting = world.broker.createReceiver('q').receiveMessages(1, { maxWaitTimeInMs: 3_000 })
    await world.pass(3_000)
    expect(await waiting).toEqual([])
    expect(world.clock.sleeping).toBeLessThanOrEqual(1)
  })

  it('gives back what it has got when it is aborted, without counting a delivery', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver('q')
    const abort = new AbortController()
    const waiting = receiver.receiveMessages(2, { signal: abort.signal })
    const rejected = expect(waiting).rejects.toThrow('enough')
    await send(world, 'a')
    await world.settled()
    abort.abort(new Error('enough'))
    await rejected
    await world.settled()
    const [again] = await world.broker.createReceiver('q').receiveMessages(1, AT_ONCE)
    expect(again).toMatchObject({ body: 'a', deliveryCount: 0 })
  })

  it('keeps for the next receive what an aborted one has removed', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver('q', { receiveMode: 'receiveAndDelete' })
    const abort = new AbortController()
    const waiting = receiver.receiveMessages(2, { signal: abort.signal })
    const rejected = expect(waiting).rejects.toThrow('enough')
    await send(world, 'a')
    await world.settled()
    abort.abort(new Error('enough'))
    await rejected
    await world.settled()
    expect(await receiver.receiveMessages(2, AT_ONCE)).toMatchObject([{ body: 'a' }])
  })

  it('allows several receives at once', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver<number>('q')
    const waits = [1, 2, 3].map(() => receiver.receiveMessages(1))
    await send(world, 1, 2, 3)
    const received = await Promise.all(waits)
    expect(received.map(([message]) => message?.body)).toEqual([1, 2, 3])
  })

  it('SET-08 refuses to settle what has no lock', async () => {
    await using world = await withQueue()
    await send(world, 'a', 'b')
    const receiver = world.broker.createReceiver('q', { receiveMode: 'receiveAndDelete' })
    const [a] = await receiver.receiveMessages(1, AT_ONCE)
    const [b] = await receiver.peekMessages(1)
    const notAllowed = { code: 'ERR_MESSAGING_NOT_ALLOWED' }
    await expect(receiver.completeMessage(a!)).rejects.toMatchObject(notAllowed)
    await expect(receiver.completeMessage(b!)).rejects.toMatchObject(notAllowed)
  })

  it('SET-05 names the deferred number that it does not find', async () => {
    await using world = await withQueue()
    await send(world, 'a')
    const receiver = world.broker.createReceiver('q')
    const [a] = await receiver.receiveMessages(1, AT_ONCE)
    await receiver.deferMessage(a!)
    await expect(receiver.receiveDeferredMessages([a!.sequenceNumber, 99])).rejects.toMatchObject({
      code: 'ERR_MESSAGE_NOT_FOUND',
      sequenceNumber: 99,
    })
    expect(await receiver.receiveDeferredMessages(a!.sequenceNumber)).toMatchObject([{ body: 'a' }])
  })

  it('SET-16 receives nothing ahead in receiveAndDelete, where it would be lost', async () => {
    await using world = await withQueue()
    await send(world, 1, 2, 3)
    const options = { receiveMode: 'receiveAndDelete', prefetchCount: 3 } as const
    const receiver = world.broker.createReceiver('q', options)
    expect(await receiver.receiveMessages(1, AT_ONCE)).toHaveLength(1)
    await world.settled()
    await receiver.close()
    const { activeMessageCount } = await world.broker.getQueueRuntimeProperties('q')
    expect(activeMessageCount).toBe(2)
  })

  it('gives back prefetched messages that nobody saw, without counting a delivery', async () => {
    await using world = await withQueue()
    await send(world, 1, 2, 3)
    const receiver = world.broker.createReceiver('q', { prefetchCount: 3 })
    const [first] = await receiver.receiveMessages(1)
    await receiver.completeMessage(first!)
    await receiver.close()
    const others = await world.broker.createReceiver('q').receiveMessages(3, AT_ONCE)
    expect(others).toMatchObject([
      { body: 2, deliveryCount: 0 },
      { body: 3, deliveryCount: 0 },
    ])
  })

  it('SET-16 leaves locks to the next receiver that knows the token', async () => {
    await using world = await withQueue()
    await send(world, 'a')
    const receiver = world.broker.createReceiver('q')
    const [a] = await receiver.receiveMessages(1, AT_ONCE)
    await receiver.close()
    await receiver.close()
    const closed = { code: 'ERR_LINK_CLOSED' }
    await expect(receiver.completeMessage(a!)).rejects.toMatchObject(closed)
    await expect(receiver.receiveMessages(1)).rejects.toMatchObject(closed)
    await expect(receiver.peekMessages(1)).rejects.toMatchObject(closed)
    await world.broker.createReceiver('q').completeMessage(a!)
  })

  it('rejects receives that wait when it is closed', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver('q')
    const waiting = receiver.receiveMessages(1)
    const rejected = expect(waiting).rejects.toMatchObject({ code: 'ERR_LINK_CLOSED' })
    await world.settled()
    await receiver.close()
    await rejected
    expect(receiver.isClosed).toBe(true)
  })

  it.each([0, -1, 1.5, Number.NaN, 1_000_000])(
    'refuses %s as a number of messages',
    async (max) => {
      await using world = await withQueue()
      const receiver = world.broker.createReceiver('q')
      const invalid = { code: 'ERR_INVALID_OPTION' }
      await expect(receiver.receiveMessages(max)).rejects.toMatchObject(invalid)
      await expect(receiver.peekMessages(max)).rejects.toMatchObject(invalid)
    },
  )
})

describe('the iterator of a MessageReceiver', () => {
  it('gives one message at a time, settles none, and ends with the loop', async () => {
    await using world = await withQueue()
    await send(world, 1, 2, 3)
    const receiver = world.broker.createReceiver<number>('q')
    const bodies: number[] = []
    for await (const message of receiver) {
      bodies.push(message.body)
      if (message.body === 2) break
      await receiver.completeMessage(message)
    }
    expect(bodies).toEqual([1, 2])
    await world.pass(10_100)
    expect(await receiver.peekMessages(5)).toMatchObject([
      { body: 2, deliveryCount: 1 },
      { body: 3, deliveryCount: 0 },
    ])
  })

  it('renews the lock until the next message is asked for', async () => {
    await using world = await withQueue()
    await send(world, 1)
    const receiver = world.broker.createReceiver('q')
    const messages = receiver[Symbol.asyncIterator]()
    const { value } = await messages.next()
    await world.pass(25_000)
    await receiver.completeMessage(value!)
    await messages.return()
  })

  it('ends while a message is awaited, by return and by closing the receiver', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver('q')
    for (const end of [
      (messages: AsyncGenerator) => messages.return(undefined),
      () => receiver.close(),
    ]) {
      const messages = receiver[Symbol.asyncIterator]()
      const next = messages.next()
      await world.settled()
      await end(messages)
      expect(await next).toEqual({ done: true, value: undefined })
    }
  })
})
