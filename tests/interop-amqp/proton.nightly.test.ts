import { describe, expect, test } from 'vitest'
import { bodies, only } from './client-entity.ts'
import { LISTENER, ROOT, SENDER } from './credentials.ts'
import { Namespace } from './interop-amqp.fixture.ts'
import { ProtonClient, ProtonError } from './proton.fixture.ts'

const BODIES = [
  'binary',
  'string',
  'null',
  'list',
  'map',
  'sequence',
  'array',
  'described',
  'ulong',
] as const

const LOGIN = { user: ROOT.name, password: ROOT.key, allowed_mechs: 'PLAIN' }

/** Proton with a connection to a namespace with the queue `orders`. */
async function openProton(space: Namespace): Promise<ProtonClient> {
  const proton = await ProtonClient.start()
  await proton.connect(space.front.port, LOGIN)
  return proton
}

async function raised(call: Promise<unknown>): Promise<ProtonError> {
  try {
    await call
  } catch (error) {
    if (error instanceof ProtonError) return error
    throw error
  }
  throw new Error('nothing was raised')
}

describe('Another client: Qpid Proton for Python', () => {
  test('SET-01 it logs in with PLAIN, sends, receives and accepts', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    const receiver = await proton.receiver('orders', { credit: 1 })
    expect(await sender.send({ text: 'a', id: 'm' })).toMatchObject({ state: 'accepted' })
    const [message] = await receiver.receive(1)
    expect(message).toMatchObject({
      id: 'm',
      text: 'a',
      number: 1,
      deliveryCount: 0,
    })
    expect(message?.annotations).toEqual(
      expect.arrayContaining([
        'x-opt-enqueued-time',
        'x-opt-locked-until',
        'x-opt-sequence-number',
      ]),
    )
    if (message !== undefined) await receiver.settle(message, 'accepted')
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SET-01 a settlement that asks for no answer counts', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [message] = await receiver.receive(1)
    if (message !== undefined) await receiver.settle(message, 'accepted', { at_once: true })
    await receiver.close()
    await queue.settlesAt({ here: [], dead: [] })
  })

  test('SET-02 a message that is released comes again, and counts no delivery', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [first] = await receiver.receive(1)
    if (first !== undefined) await receiver.settle(first, 'released')
    await receiver.flow(1)
    const [second] = await receiver.receive(1)
    expect(second).toMatchObject({ number: 1, deliveryCount: 0 })
  })

  test('SET-02 a message that is modified comes again, and counts one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [first] = await receiver.receive(1)
    if (first !== undefined) {
      await receiver.settle(first, 'modified', { failed: true, annotations: { by: 'proton' } })
    }
    const again = await queue.receiveOne()
    expect(again).toMatchObject({ body: 'a', deliveryCount: 1 })
    expect(again.applicationProperties).toMatchObject({ by: 'proton' })
  })

  test('SET-05 a message that is undeliverable here is deferred', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [first] = await receiver.receive(1)
    if (first !== undefined) await receiver.settle(first, 'modified', { undeliverable: true })
    expect(await queue.peekOne()).toMatchObject({ body: 'a', state: 'deferred' })
  })

  test('SET-04 a message that is rejected goes to the dead-letter queue with the error', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [first] = await receiver.receive(1)
    if (first !== undefined) {
      await receiver.settle(first, 'rejected', { condition: 'own:reason', description: 'why' })
    }
    expect(only(await queue.peekDead())).toMatchObject({
      body: 'a',
      deadLetterReason: 'own:reason',
      deadLetterErrorDescription: 'why',
    })
    const dead = await proton.receiver('orders/$DeadLetterQueue', { credit: 1 })
    const [letter] = await dead.receive(1)
    expect(letter).toMatchObject({ number: 1 })
  })

  test('SET-06 settling after the lock has ended is answered with the error', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await using proton = await openProton(space)
    await queue.send('a')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [message] = await receiver.receive(1)
    space.clock.jump(61_000)
    const settled = message && (await receiver.settle(message, 'accepted'))
    expect(settled).toEqual({
      state: 'rejected',
      condition: 'com.microsoft:message-lock-lost',
    })
  })

  test('SET-08 a receiver of settled messages takes them away', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a', 'b')
    const receiver = await proton.receiver('orders', { credit: 1, settled: true })
    const [message] = await receiver.receive(1)
    expect(message).toMatchObject({ number: 1, settled: true })
    expect(bodies(await queue.peek())).toEqual(['b'])
  })

  test('SET-17 properties of every AMQP type come back as they were sent', async () => {
    await using space = await Namespace.open()
    await space.queue()
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    const { state, sent } = await sender.send({ text: 'a', id: 'm', types: true })
    expect(state).toBe('accepted')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [message] = await receiver.receive(1)
    expect(message?.properties).toBe(sent.properties)
  })

  test('SET-17 they come back through rules and after an abandon, too', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription({ rules: [] })
    await entity.rules.createRule(
      'own',
      { sqlExpression: '1 = 1' },
      { sqlExpression: 'SET added = 1' },
    )
    await using proton = await openProton(space)
    const sender = await proton.sender('events')
    const { sent } = await sender.send({ text: 'a', types: true })
    const receiver = await proton.receiver('events/Subscriptions/billing', { credit: 1 })
    const [first] = await receiver.receive(1)
    if (first === undefined) throw new Error('nothing came')
    await receiver.settle(first, 'modified', { failed: true, annotations: { more: 'x' } })
    await receiver.flow(1)
    const [second] = await receiver.receive(1)
    const types = (text: string): string[] => text.slice(1, -1).split(', ')
    for (const pair of types(sent.properties))
      expect(types(second?.properties ?? '')).toContain(pair)
    expect(second?.properties).toContain("str 'more': str 'x'")
  })

  test.each(BODIES)('SET-17 a body that is a %s comes back as it was sent', async (body) => {
    await using space = await Namespace.open()
    await space.queue()
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    const { state, sent } = await sender.send({ body })
    expect(state).toBe('accepted')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [message] = await receiver.receive(1)
    expect([message?.body, message?.size]).toEqual([sent.body, sent.size])
  })

  test('SET-17 header fields that are the application’s come back', async () => {
    await using space = await Namespace.open()
    await space.queue()
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    await sender.send({ text: 'a', durable: true, priority: 9, subject: 's' })
    await sender.send({ text: 'b', durable: false, priority: 1 })
    const receiver = await proton.receiver('orders', { credit: 2 })
    expect(await receiver.receive(2)).toMatchObject([
      { text: 'a', durable: true, priority: 9, subject: 's' },
      { text: 'b', durable: false, priority: 1, subject: null },
    ])
  })

  test('EXP-10 a time to live is cut, and the header shows it', async () => {
    await using space = await Namespace.open()
    await space.queue({ defaultMessageTimeToLive: 'PT1M' })
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    await sender.send({ text: 'a', ttl: 3600 })
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [message] = await receiver.receive(1)
    expect(message?.ttl).toBe(60)
  })

  test('SET-20 a large message goes over many small frames both ways', async () => {
    await using space = await Namespace.open()
    await space.queue()
    await using proton = await ProtonClient.start()
    await proton.connect(space.front.port, { ...LOGIN, max_frame_size: 4096 })
    const sender = await proton.sender('orders')
    const { state, sent } = await sender.send({ size: 500_000 })
    expect(state).toBe('accepted')
    const receiver = await proton.receiver('orders', { credit: 1 })
    const [message] = await receiver.receive(1)
    expect([message?.size, message?.body]).toEqual([500_000, sent.body])
  })

  test('SET-20 a message that is too large is rejected, and the link goes on', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    expect(await sender.send({ size: 300_000 })).toMatchObject({
      state: 'rejected',
      condition: 'amqp:link:message-size-exceeded',
    })
    expect(await sender.send({ text: 'a' })).toMatchObject({ state: 'accepted' })
    expect(await queue.peek()).toHaveLength(1)
  })

  test('SET-18 a message that is sent as settled is stored', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    await sender.send({ text: 'a', settled: true })
    await sender.send({ text: 'b' })
    await expect.poll(async () => bodies(await queue.peek())).toEqual(['a', 'b'])
  })

  test('SET-21 a receiver gets as many messages as it gave credit for', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a', 'b', 'c', 'd', 'e')
    const receiver = await proton.receiver('orders')
    await receiver.flow(2)
    expect((await receiver.receive(2)).map(({ number }) => number)).toEqual([1, 2])
    // The others are nobody's.
    expect(bodies(await queue.receiveNow())).toEqual(['c', 'd', 'e'])
  })

  test('SET-21 a drain ends with what is there, and takes the rest of the credit back', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    const receiver = await proton.receiver('orders')
    expect(await receiver.drain(10)).toEqual([])
    await queue.send('a', 'b')
    expect((await receiver.drain(10)).map(({ number }) => number)).toEqual([1, 2])
    await queue.send('c')
    expect(bodies(await queue.receive(1))).toEqual(['c'])
  })

  test('SET-21 a drain when all credit is used is answered', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    await queue.send('a', 'b')
    const receiver = await proton.receiver('orders')
    await receiver.flow(1)
    expect(await receiver.receive(1)).toHaveLength(1)
    expect((await receiver.drain(1)).map(({ number }) => number)).toEqual([2])
    expect(await receiver.drain(5)).toEqual([])
  })

  test('SET-19 a link without credit does not hold up others of its session', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const other = await space.queue({}, 'other')
    await using proton = await openProton(space)
    const idle = await proton.receiver('orders')
    const busy = await proton.receiver('other')
    const sender = await proton.sender('other')
    await queue.send('a')
    for (let round = 0; round < 20; round += 1) {
      await sender.send({ text: `m${round}` })
      await busy.flow(1)
      const [message] = await busy.receive(1)
      expect(message?.text).toBe(`m${round}`)
      if (message !== undefined) await busy.settle(message, 'accepted')
    }
    await idle.flow(1)
    expect(await idle.receive(1)).toHaveLength(1)
    expect(await other.peek()).toEqual([])
  })

  test('SES-10 a session is accepted by a filter, and its id is shown', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    await using proton = await openProton(space)
    await queue.send({ body: 'a', sessionId: 'one' }, { body: 'b', sessionId: 'two' })
    const receiver = await proton.receiver('orders', { session: 'two', credit: 1 })
    expect(receiver.session).toBe('two')
    const [message] = await receiver.receive(1)
    expect(message?.number).toBe(2)
    const next = await proton.receiver('orders', { session: null, credit: 1 })
    expect(next.session).toBe('one')
  })

  test('SET-15 an entity that does not exist is refused with its name', async () => {
    await using space = await Namespace.open()
    await using proton = await openProton(space)
    const error = await raised(proton.sender('nowhere'))
    expect([error.kind, error.condition]).toEqual(['LinkDetached', 'amqp:not-found'])
    expect(error.message).toContain('nowhere')
    expect((await raised(proton.receiver('nowhere'))).condition).toBe('amqp:not-found')
  })

  test('a wrong password is refused, and so is an unknown name', async () => {
    await using space = await Namespace.open()
    await using proton = await ProtonClient.start()
    for (const login of [
      { ...LOGIN, password: 'wrong' },
      { ...LOGIN, user: 'nobody' },
    ]) {
      const error = await raised(proton.connect(space.front.port, login))
      expect(error.message).toMatch(/unauthorized|authentication/i)
    }
  })

  test('without a login and without a token every link is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await using proton = await ProtonClient.start()
    await proton.connect(space.front.port, { allowed_mechs: 'ANONYMOUS' })
    for (const call of [
      () => proton.sender('orders'),
      () => proton.receiver('orders', { credit: 1 }),
      () => proton.receiver('nowhere', { credit: 1 }),
    ]) {
      expect((await raised(call())).condition).toBe('amqp:unauthorized-access')
    }
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('a login has the rights of its policy', async () => {
    await using space = await Namespace.open()
    await space.queue()
    await using proton = await ProtonClient.start()
    for (const { name, key } of [SENDER, LISTENER]) {
      await proton.connect(space.front.port, {
        name,
        user: name,
        password: key,
        allowed_mechs: 'PLAIN',
      })
    }
    const sender = await proton.sender('orders', SENDER.name)
    await sender.send({ text: 'a' })
    const receiver = await proton.receiver('orders', { connection: LISTENER.name, credit: 1 })
    expect(await receiver.receive(1)).toMatchObject([{ text: 'a' }])
    const wrong = [
      () => proton.receiver('orders', { connection: SENDER.name }),
      () => proton.sender('orders', LISTENER.name),
    ]
    for (const call of wrong) {
      expect((await raised(call())).condition).toBe('amqp:unauthorized-access')
    }
  })

  test('SET-17 what Proton sends the official client receives, and the other way', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await using proton = await openProton(space)
    const sender = await proton.sender('orders')
    await sender.send({ text: 'a', id: 'from proton', subject: 's' })
    const message = await queue.receiveOne()
    expect(message).toMatchObject({ body: 'a', messageId: 'from proton', subject: 's' })
    await queue.receiver.completeMessage(message)
    await queue.sender.sendMessages({ body: 'b', bodyType: 'value' })
    const receiver = await proton.receiver('orders', { credit: 1 })
    expect(await receiver.receive(1)).toMatchObject([{ text: 'b', deliveryCount: 0 }])
  })
})
