import type { ServiceBusClient, ServiceBusReceivedMessage } from '@azure/service-bus'
import type { TcpProxy } from '@tidemark/testing/servers'
import { describe, expect, test } from 'vitest'
import { bodies, receive, receiveOne, sortedBodies } from './client-entity.ts'
import { Namespace, RETRYING } from './interop-amqp.fixture.ts'

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `m${index}`)

interface Breakable {
  readonly client: ServiceBusClient
  readonly proxy: TcpProxy
}

/** A client whose connection a case can break, and which tries again. */
async function breakable(space: Namespace): Promise<Breakable> {
  const proxy = await space.proxy()
  const client = space.connect({ port: proxy.port, client: { retryOptions: { ...RETRYING } } })
  return { client, proxy }
}

/** A client that gives up when its connection breaks. */
async function losable(space: Namespace): Promise<Breakable> {
  const proxy = await space.proxy()
  return { client: space.connect({ port: proxy.port }), proxy }
}

describe('Broken connections', () => {
  test('SET-18 a sender goes on after its connection broke', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { client, proxy } = await breakable(space)
    const sender = queue.through(client)
    await sender.send('a')
    proxy.cut()
    await sender.send('b')
    expect(bodies(await queue.peek())).toEqual(['a', 'b'])
  })

  test('SET-10 a send that broke in the middle is repeated, and stored once by its id', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresDuplicateDetection: true })
    const { client, proxy } = await breakable(space)
    const sender = queue.through(client)
    await sender.send({ body: 'first', messageId: 'first' })
    proxy.block('toClient')
    const sending = sender.send({ body: 'a', messageId: 'm' })
    await expect.poll(async () => bodies(await queue.peek())).toEqual(['first', 'a'])
    proxy.unblock()
    await sending
    expect(bodies(await queue.peek())).toEqual(['first', 'a'])
  })

  test('SET-18 every send that was acknowledged is there, however often the connection breaks', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresDuplicateDetection: true })
    const { client, proxy } = await breakable(space)
    const sender = queue.through(client)
    for (const name of names(20)) {
      const sending = sender.send({ body: name, messageId: name })
      if (name.endsWith('5')) proxy.cut()
      await sending
    }
    expect(sortedBodies(await queue.peek())).toEqual(names(20).toSorted())
  })

  test('SET-16 locks outlive the connection, and settle through the next one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    const { client, proxy } = await breakable(space)
    const { receiver } = queue.through(client)
    const [a, b] = await receive(receiver, 2)
    proxy.cut()
    expect(await queue.receiveNow()).toEqual([])
    if (a === undefined || b === undefined) throw new Error('two messages were sent')
    await receiver.completeMessage(a)
    await receiver.abandonMessage(b)
    const left = await queue.receiveOne()
    expect([left.body, left.deliveryCount]).toEqual(['b', 1])
  })

  test('SET-06 what a lost consumer held comes again when its locks have ended', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const { client, proxy } = await losable(space)
    await receiveOne(queue.through(client).open({ maxAutoLockRenewalDurationInMs: 0 }))
    proxy.refuse()
    expect(await queue.receiveNow()).toEqual([])
    space.clock.jump(61_000)
    expect(await queue.receiveOne()).toMatchObject({ body: 'a', deliveryCount: 1 })
    proxy.accept()
  })

  test('SET-16 a settlement whose answer was lost is not done twice', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b')
    const { client, proxy } = await breakable(space)
    const { receiver } = queue.through(client)
    const message = await receiveOne(receiver)
    proxy.block('toClient')
    const completing = receiver.completeMessage(message).then(
      () => 'completed',
      () => 'failed',
    )
    await expect.poll(async () => bodies(await queue.peek())).toEqual(['b'])
    proxy.unblock()
    expect(['completed', 'failed']).toContain(await completing)
    expect(bodies(await queue.peek())).toEqual(['b'])
  })

  test('SET-19 handlers go on after the connection broke, and get every message', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { client, proxy } = await breakable(space)
    const seen: string[] = []
    const done = Promise.withResolvers<void>()
    const subscription = queue.through(client).receiver.subscribe({
      processMessage: async ({ body }: ServiceBusReceivedMessage) => {
        seen.push(String(body))
        if (new Set(seen).size === 20) done.resolve()
      },
      processError: async () => {},
    })
    await queue.send(...names(10))
    // The client waits a minute for the answer to a settlement that was on its way.
    await queue.settlesAt({ here: [], dead: [] })
    proxy.cut()
    await queue.send(...names(20).slice(10))
    await done.promise
    await queue.settlesAt({ here: [], dead: [] })
    await subscription.close()
    expect([...new Set(seen)].toSorted()).toEqual(names(20).toSorted())
  })

  test('SET-01 a receive that waited when the connection broke loses nothing', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { client, proxy } = await breakable(space)
    const { receiver } = queue.through(client)
    await receiver.receiveMessages(1, { maxWaitTimeInMs: 0 })
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 30_000 }).catch(() => [])
    await queue.peek()
    proxy.cut()
    await queue.send('a')
    const got = await waiting
    const all = got.length > 0 ? got : await receive(receiver, 1)
    expect(bodies(all)).toEqual(['a'])
  })

  test('SET-09 a peek goes on after the connection broke', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const { client, proxy } = await breakable(space)
    const entity = queue.through(client)
    expect(bodies(await entity.peek())).toEqual(['a'])
    proxy.cut()
    expect(bodies(await entity.peek())).toEqual(['a'])
  })

  test('SCH-03 scheduling goes on after the connection broke', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { client, proxy } = await breakable(space)
    const { sender } = queue.through(client)
    const [first] = await sender.scheduleMessages({ body: 'a' }, space.in(60_000))
    proxy.cut()
    await sender.cancelScheduledMessages(first ?? [])
    expect(await queue.peek()).toEqual([])
  })

  test('SES-11 the session of a lost connection is released', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    await queue.send({ body: 'a', sessionId: 's' })
    const { client, proxy } = await losable(space)
    const session = await queue.through(client).accept('s')
    await receiveOne(session)
    proxy.refuse()
    await expect
      .poll(async () => {
        try {
          const next = await queue.accept('s')
          return bodies(await receive(next, 1))
        } catch {
          return 'held'
        }
      })
      .toEqual(['a'])
    proxy.accept()
  })

  test('SES-15 the receiver of a session whose connection broke settles no more', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    await queue.send({ body: 'a', sessionId: 's' })
    const { client, proxy } = await breakable(space)
    const session = await queue.through(client).accept('s')
    const message = await receiveOne(session)
    proxy.cut()
    await expect.poll(() => session.isClosed).toBe(true)
    await expect(session.completeMessage(message)).rejects.toThrow(/closed|expired/)
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SES-12 a waiter for a next session that has gone gets none', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const { client, proxy } = await losable(space)
    const lost = queue
      .through(client)
      .acceptNext()
      .then(
        ({ sessionId }) => sessionId,
        () => 'failed',
      )
    await queue.peek()
    proxy.refuse()
    await queue.peek()
    await queue.send({ body: 'a', sessionId: 's' })
    expect((await queue.through(space.connect()).acceptNext()).sessionId).toBe('s')
    await client.close()
    expect(await lost).not.toBe('s')
  })

  test('SET-19 messages on their way to a client that has gone come back in time', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send(...names(50))
    const { client, proxy } = await losable(space)
    const { receiver } = queue.through(client)
    await receiver.receiveMessages(1, { maxWaitTimeInMs: 30_000 })
    proxy.block('toClient')
    const lost = receiver.receiveMessages(30, { maxWaitTimeInMs: 2000 }).catch(() => [])
    await expect.poll(async () => (await queue.receiveNow()).length).toBeLessThan(49)
    proxy.refuse()
    space.clock.jump(61_000)
    const rest = await queue.receive(50)
    expect(sortedBodies(rest)).toEqual(names(50).toSorted())
    proxy.accept()
    await lost
  })

  test('SET-08 what is received and deleted is gone at its delivery, also if it is lost on its way', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...names(5))
    const { client, proxy } = await losable(space)
    const receiver = queue.through(client).open({ receiveMode: 'receiveAndDelete' })
    expect(await receive(receiver, 1)).toHaveLength(1)
    proxy.block('toClient')
    const lost = receiver.receiveMessages(4, { maxWaitTimeInMs: 2000 }).catch(() => [])
    await expect.poll(() => queue.peek()).toEqual([])
    proxy.refuse()
    expect(await queue.places()).toEqual({ here: [], dead: [] })
    proxy.accept()
    await lost
  })

  test('SET-18 a front that stops tells its clients, which find it again at its address', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const other = await space.anotherFront()
    const { client, proxy } = await breakable(space)
    const entity = queue.through(client)
    await entity.send('a')
    proxy.moveTo({ host: '127.0.0.1', port: other.port })
    await space.front.stop()
    // While its connection closes, the client fails at once, and tries no further.
    await expect
      .poll(() =>
        entity.send('b').then(
          () => 'sent',
          () => 'failed',
        ),
      )
      .toBe('sent')
    expect(new Set(bodies(await entity.peek()))).toEqual(new Set(['a', 'b']))
  })

  test('SET-19 two clients that break one after the other lose nothing', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const sent = names(60)
    await queue.send(...sent)
    const consumers = [await breakable(space), await breakable(space)]
    const seen = new Set<string>()
    await Promise.all(
      consumers.map(async ({ client, proxy }, index) => {
        const { receiver } = queue.through(client)
        for (let round = 0; seen.size < sent.length; round += 1) {
          if (round === index + 2) proxy.cut()
          const messages = await receiver
            .receiveMessages(5, { maxWaitTimeInMs: 500 })
            .catch((): ServiceBusReceivedMessage[] => [])
          for (const message of messages) {
            await receiver.completeMessage(message)
            seen.add(String(message.body))
          }
          if (messages.length === 0 && (await queue.peek()).length === 0) break
        }
      }),
    )
    expect([...seen].toSorted()).toEqual(sent.toSorted())
    expect(await queue.peek()).toEqual([])
  })
})
