import { describe, expect, test } from 'vitest'
import { bodies, numberOf, receive, receiveOne, sortedBodies } from './client-entity.ts'
import { codeOf, Namespace, RETRYING } from './interop-amqp.fixture.ts'

describe('Several clients and several fronts', () => {
  test('SET-01 what one client sends another receives', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const waiting = queue.through(space.connect()).receive(1)
    await queue.through(space.connect()).send('a')
    expect(bodies(await waiting)).toEqual(['a'])
  })

  test('SET-01 a sender at one front and a receiver at another', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { port } = await space.anotherFront()
    const far = queue.through(space.connect({ port }))
    const waiting = far.receive(2)
    await queue.send('a', 'b')
    const messages = await waiting
    expect(bodies(messages)).toEqual(['a', 'b'])
    for (const message of messages) await far.receiver.completeMessage(message)
    expect(await queue.peek()).toEqual([])
  })

  test('SET-19 receivers at two fronts get each message once', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const { port } = await space.anotherFront()
    const sent = Array.from({ length: 100 }, (_, index) => `m${index}`)
    await queue.send(...sent)
    const far = queue.through(space.connect({ port }))
    const [here, there] = await Promise.all([queue.receive(50), far.receive(50)])
    expect(sortedBodies([...here, ...there])).toEqual(sent.toSorted())
  })

  test('SET-16 a message that one front delivered is settled through another by its token', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const { port } = await space.anotherFront()
    const proxy = await space.proxy()
    const client = space.connect({
      port: proxy.port,
      client: { retryOptions: { ...RETRYING } },
    })
    const { receiver } = queue.through(client)
    const message = await receiveOne(receiver)
    proxy.moveTo({ host: '127.0.0.1', port })
    proxy.cut()
    await receiver.completeMessage(message)
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SES-11 a session that is held at one front is refused at another', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const { port } = await space.anotherFront()
    const far = queue.through(space.connect({ port }))
    const session = await queue.accept('s')
    await session.setSessionState('from here')
    expect(await codeOf(far.accept('s'))).toBe('SessionCannotBeLocked')
    await session.close()
    expect(await (await far.accept('s')).getSessionState()).toBe('from here')
  })

  test('SES-12 accept-next at one front wakes for a send at another', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const { port } = await space.anotherFront()
    const waiting = queue.through(space.connect({ port })).acceptNext()
    await queue.send({ body: 'a', sessionId: 's' })
    expect((await waiting).sessionId).toBe('s')
  })

  test('SET-15 an entity that is created after a front began is there', async () => {
    await using space = await Namespace.open()
    const { port } = await space.anotherFront()
    const client = space.connect({ port, client: { retryOptions: { ...RETRYING } } })
    const queue = (await space.queue()).through(client)
    await queue.send('a')
    await space.broker.deleteQueue('orders')
    await expect
      .poll(() => codeOf(queue.send('b')).catch(() => 'sent'))
      .toBe('MessagingEntityNotFound')
    await space.queue()
    await queue.send('c')
    expect(bodies(await queue.peek())).toEqual(['c'])
  })

  test('TOP-07 a rule that is created at one front counts at another', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription({ rules: [] })
    const { port } = await space.anotherFront()
    const far = entity.through(space.connect({ port }))
    await far.send('a')
    await entity.rules.createRule('all', { sqlExpression: '1 = 1' })
    await far.send('b')
    expect(bodies(await far.peek())).toEqual(['b'])
  })

  test('EXP-06 the locks of a front that has gone end in their time', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const front = await space.anotherFront()
    const far = queue.through(space.connect({ port: front.port }))
    await far.receiveOne()
    await front.stop()
    expect(await queue.receiveNow()).toEqual([])
    space.clock.jump(61_000)
    expect(await queue.receiveOne()).toMatchObject({ body: 'a', deliveryCount: 1 })
  })

  test('SES-11 the sessions of a front that stops are released', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const front = await space.anotherFront()
    await queue.through(space.connect({ port: front.port })).accept('s')
    await front.stop()
    expect((await queue.accept('s')).sessionId).toBe('s')
  })

  test('SET-05 what is deferred at one front is received at another', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    const { port } = await space.anotherFront()
    const far = queue.through(space.connect({ port }))
    const deferred = await far.receiver.receiveDeferredMessages(numberOf(message))
    expect(bodies(deferred)).toEqual(['a'])
  })

  test('SET-17 our own API and the client see the same message', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using sender = space.broker.createSender('orders')
    await using receiver = space.broker.createReceiver('orders')
    const message = {
      body: { a: [1, 'b', null] },
      messageId: 'm',
      subject: 's',
      correlationId: 'c',
      timeToLive: 60_000,
      applicationProperties: { n: 1, f: 0.5, t: 'x', b: true },
    }
    await sender.sendMessages(message)
    expect(await queue.receiveOne()).toMatchObject(message)
    await queue.send({ ...message, messageId: 'n' })
    const [received] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 30_000 })
    expect(received).toMatchObject({ ...message, messageId: 'n' })
  })

  test('SET-17 dates, bytes and large numbers of our own API reach the client', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using sender = space.broker.createSender('orders')
    const at = new Date('2026-01-02T03:04:05.006Z')
    await sender.sendMessages([
      { body: new Uint8Array([1, 2, 255]), applicationProperties: { at, big: 2 ** 40 } },
      { body: 'text' },
    ])
    const receiver = queue.open({ skipConvertingDate: true })
    const [bytes, text] = await receive(receiver, 2)
    expect(Buffer.from(bytes?.body ?? []).equals(Buffer.from([1, 2, 255]))).toBe(true)
    expect(bytes?.applicationProperties).toEqual({ at, big: 2 ** 40 })
    expect(text?.body).toBe('text')
  })

  test('SET-04 what the client dead-letters is sent back by our own API', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await queue.receiver.deadLetterMessage(await queue.receiveOne())
    expect(await space.broker.redriveDeadLetters('orders')).toHaveLength(1)
    expect(bodies(await queue.receive(1))).toEqual(['a'])
  })

  test('SET-18 fifty clients on one front send and receive side by side', async () => {
    await using space = await Namespace.open()
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const queue = (await space.queue({}, `queue-${index}`)).through(space.connect())
        await queue.send(`m${index}`)
        await queue.receiver.completeMessage(await queue.receiveOne())
        expect(await queue.peek()).toEqual([])
      }),
    )
  })
})
