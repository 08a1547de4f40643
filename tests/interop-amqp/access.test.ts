import type { ServiceBusClient } from '@azure/service-bus'
import { describe, expect, test } from 'vitest'
import { bodies, only } from './client-entity.ts'
import { LISTENER, POLICIES, ROOT, sasToken, SENDER, type Credentials } from './credentials.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const HOUR_MS = 3_600_000

/** A client that has one token, and makes no others. */
function withToken(
  space: Namespace,
  given: { readonly as?: Credentials; readonly path?: string; readonly expiresMs?: number } = {},
): ServiceBusClient {
  const { as = ROOT, path = '', expiresMs = space.clock.wallMs() + HOUR_MS } = given
  const token = sasToken(as, { resource: `sb://localhost/${path}`, expiresMs })
  return space.connectWith(`SharedAccessSignature=${token}`)
}

describe('Keys, rights and tokens', () => {
  test('a wrong key is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const client = space.connect({ as: { ...ROOT, key: 'wrong' } })
    expect(await codeOf(queue.through(client).send('a'))).toBe('UnauthorizedAccess')
    expect(await codeOf(queue.through(client).receiveOne())).toBe('UnauthorizedAccess')
    expect(await queue.peek()).toEqual([])
  })

  test('an unknown name of a policy is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const client = space.connect({ as: { ...ROOT, name: 'nobody' } })
    expect(await codeOf(queue.through(client).send('a'))).toBe('UnauthorizedAccess')
  })

  test('the key of another policy is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const client = space.connect({ as: { name: ROOT.name, key: SENDER.key } })
    expect(await codeOf(queue.through(client).send('a'))).toBe('UnauthorizedAccess')
  })

  test('a key with the right to send sends, and does not receive or peek', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const sender = queue.through(space.connect({ as: SENDER }))
    await sender.send('a')
    await sender.sender.scheduleMessages({ body: 'b' }, space.in(60_000))
    expect(await codeOf(sender.receiveOne())).toBe('UnauthorizedAccess')
    expect(await codeOf(sender.peek())).toBe('UnauthorizedAccess')
    expect(bodies(await queue.peek())).toEqual(['a', 'b'])
  })

  test('a key with the right to listen receives and settles, and does not send', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const listener = queue.through(space.connect({ as: LISTENER }))
    expect(bodies(await listener.peek())).toEqual(['a'])
    await listener.receiver.completeMessage(await listener.receiveOne())
    expect(await codeOf(listener.send('b'))).toBe('UnauthorizedAccess')
    expect(await codeOf(listener.sender.scheduleMessages({ body: 'c' }, space.in(60_000)))).toBe(
      'UnauthorizedAccess',
    )
    expect(await queue.peek()).toEqual([])
  })

  test('a key with the right to listen accepts sessions', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const listener = queue.through(space.connect({ as: LISTENER }))
    const session = await listener.accept('s')
    await session.setSessionState('mine')
    expect(await session.getSessionState()).toBe('mine')
    const sender = queue.through(space.connect({ as: SENDER }))
    expect(await codeOf(sender.acceptNext())).toBe('UnauthorizedAccess')
    // The client does not look at the error of a session that it named.
    expect(await codeOf(sender.accept('t'))).toBe('SessionCannotBeLocked')
  })

  test('a key with the right to listen changes rules, as its client says', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    const sender = entity.through(space.connect({ as: SENDER })).rules
    expect(await codeOf(sender.createRule('one', { sqlExpression: '1 = 1' }))).toBe(
      'UnauthorizedAccess',
    )
    const listener = entity.through(space.connect({ as: LISTENER })).rules
    await listener.createRule('one', { sqlExpression: '1 = 1' })
    await listener.deleteRule('one')
  })

  test('what exists is told only to those who have a right', async () => {
    await using space = await Namespace.open()
    const client = space.connect({ as: { ...ROOT, key: 'wrong' } })
    expect(await codeOf(space.entity('nowhere').through(client).send('a'))).toBe(
      'UnauthorizedAccess',
    )
    // Who may receive may know it. It is told with the token, as the service does.
    const listener = space.connect({ as: LISTENER })
    expect(await codeOf(space.entity('nowhere').through(listener).send('a'))).toBe(
      'MessagingEntityNotFound',
    )
  })

  test('a token for the namespace is good for everything', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const entity = queue.through(withToken(space))
    await entity.send('a')
    expect(bodies(await entity.receive(1))).toEqual(['a'])
  })

  test('a token for an entity is good for that entity only', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const other = await space.queue({}, 'other')
    const client = withToken(space, { path: 'orders' })
    await queue.through(client).send('a')
    expect(bodies(await queue.through(client).peek())).toEqual(['a'])
    expect(await codeOf(other.through(client).send('a'))).toBe('UnauthorizedAccess')
  })

  test('a token for a topic is good for its subscriptions', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    const client = withToken(space, { path: 'events' })
    await entity.through(client).send('a')
    expect(only(await entity.through(client).receive(1)).body).toBe('a')
  })

  test('a token whose entity’s name begins with that of another is not good for it', async () => {
    await using space = await Namespace.open()
    await space.queue()
    const longer = await space.queue({}, 'orders-2')
    const client = withToken(space, { path: 'orders' })
    expect(await codeOf(longer.through(client).send('a'))).toBe('UnauthorizedAccess')
  })

  test('an expired token is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const client = withToken(space, { expiresMs: space.clock.wallMs() - 60_000 })
    const { code, message } = await refusal(queue.through(client).send('a'))
    expect([code, /expired/i.test(message)]).toEqual(['UnauthorizedAccess', true])
  })

  test('a token that was signed for something else is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const expiresMs = space.clock.wallMs() + HOUR_MS
    const token = sasToken(SENDER, { resource: 'sb://localhost/orders', expiresMs })
    const client = space.connectWith(
      `SharedAccessSignature=${token.replace(`skn=${SENDER.name}`, `skn=${ROOT.name}`)}`,
    )
    expect(await codeOf(queue.through(client).send('a'))).toBe('UnauthorizedAccess')
  })

  test('when a token runs out, its open links are closed', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const client = withToken(space, { expiresMs: space.clock.wallMs() + HOUR_MS })
    const entity = queue.through(client)
    await entity.send('a')
    await entity.receiveOne()
    const waiting = codeOf(entity.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 }))
    await queue.peek()
    space.clock.jump(HOUR_MS + 1000)
    expect(await waiting).toBe('UnauthorizedAccess')
    await expect.poll(() => codeOf(entity.send('b')).catch(() => 'sent')).toBe('UnauthorizedAccess')
  })

  test('when keys are replaced, links of the old ones are closed, and those of others stay', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const listener = queue.through(space.connect({ as: LISTENER }))
    await listener.receiveNow()
    const waiting = codeOf(listener.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 }))
    await queue.peek()
    space.front.replacePolicies(POLICIES.filter(({ name }) => name !== LISTENER.name))
    expect(await waiting).toBe('UnauthorizedAccess')
    await queue.send('b')
    expect(await codeOf(listener.peek())).toBe('UnauthorizedAccess')
  })

  test('a new key of the same policy is accepted beside the old one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const second = { name: ROOT.name, key: 'bmV3IGtleQ==' }
    space.front.replacePolicies([
      ...POLICIES,
      { name: ROOT.name, keys: [second.key], rights: ['Manage'] },
    ])
    await queue.through(space.connect({ as: second })).send('b')
    await queue.send('c')
    expect(bodies(await queue.peek())).toEqual(['a', 'b', 'c'])
  })

  test('an address that is no entity’s says so', async () => {
    await using space = await Namespace.open()
    await space.topic()
    for (const path of ['events/Subscriptions', 'events/Subscriptions/a/b', '$other']) {
      expect(await codeOf(space.entity(path).receiveOne()), path).toBe('MessagingEntityNotFound')
    }
  })
})

/** A shared access signature as every Service Bus library makes them. */
