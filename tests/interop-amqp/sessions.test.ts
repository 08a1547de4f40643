import { describe, expect, test } from 'vitest'
import {
  bodies,
  numberOf,
  only,
  peekAll,
  receive,
  receiveNow,
  receiveOne,
  fieldsOf,
} from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const BOTH = ['queue', 'subscription'] as const
const MINUTE_MS = 60_000
const SESSIONS = { requiresSession: true }
const DEAD = { ...SESSIONS, deadLetteringOnMessageExpiration: true }
/** A client that gives up an accept-next soon. */
const IMPATIENT = { client: { retryOptions: { maxRetries: 0, timeoutInMs: 1000 } } }

describe('Sessions', () => {
  test('SES-10 an entity with sessions refuses messages without one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    expect((await refusal(queue.send('a'))).message).toMatch(/session/i)
    const batch = queue.send({ body: 'a', sessionId: 's' }, 'b')
    expect((await refusal(batch)).message).toMatch(/session/i)
    expect(await queue.peek()).toEqual([])
  })

  test.each(BOTH)(
    'SES-10 the holder gets the messages of its session in order (%s)',
    async (kind) => {
      await using space = await Namespace.open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send(
        ...['a1', 'b1', 'a2', 'b2', 'a3'].map((body) => ({ body, sessionId: body.charAt(0) })),
      )
      const a = await entity.accept('a')
      const b = await entity.accept('b')
      expect(bodies(await receive(a, 3))).toEqual(['a1', 'a2', 'a3'])
      expect(bodies(await receive(b, 2))).toEqual(['b1', 'b2'])
      expect([a.sessionId, b.sessionId]).toEqual(['a', 'b'])
    },
  )

  test('SES-10 messages of a session carry its id', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 'sëssion 1' })
    const session = await queue.accept('sëssion 1')
    expect((await receiveOne(session)).sessionId).toBe('sëssion 1')
  })

  test('SES-10 all settlements work under a session’s lock', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send(...['a', 'b', 'c', 'd'].map((body) => ({ body, sessionId: 's' })))
    const session = await queue.accept('s')
    const [a, b, c, d] = await receive(session, 4)
    if (!a || !b || !c || !d) throw new Error('four messages were sent')
    await session.completeMessage(a)
    await session.abandonMessage(b, { n: 1 })
    await session.deferMessage(c)
    await session.deadLetterMessage(d, { deadLetterReason: 'r', deadLetterErrorDescription: 'd' })
    expect(await receiveOne(session)).toMatchObject({ body: 'b', deliveryCount: 1 })
    const [deferred] = await session.receiveDeferredMessages(numberOf(c))
    expect(deferred?.body).toBe('c')
    if (deferred !== undefined) await session.completeMessage(deferred)
    expect(await queue.places()).toEqual({ here: ['b'], dead: ['d'] })
  })

  test('SES-10 a session can be received and deleted', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' }, { body: 'b', sessionId: 's' })
    const session = await queue.accept('s', { receiveMode: 'receiveAndDelete' })
    expect(bodies(await receive(session, 2))).toEqual(['a', 'b'])
    expect(await queue.peek()).toEqual([])
  })

  test('SES-10 handlers get the messages of a session', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const sent = Array.from({ length: 20 }, (_, index) => index)
    await queue.send(...sent.map((body) => ({ body, sessionId: 's' })))
    const session = await queue.accept('s')
    const seen: unknown[] = []
    const done = Promise.withResolvers<void>()
    const subscription = session.subscribe({
      processMessage: async (message) => {
        if (seen.push(message.body) === sent.length) done.resolve()
      },
      processError: async ({ error }) => done.reject(error),
    })
    await done.promise
    await queue.settlesAt({ here: [], dead: [] })
    await subscription.close()
    expect(seen).toEqual(sent)
  })

  test('SES-11 a session that is held cannot be accepted again', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.accept('s')
    expect(await codeOf(queue.accept('s'))).toBe('SessionCannotBeLocked')
    const other = queue.through(space.connect())
    expect(await codeOf(other.accept('s'))).toBe('SessionCannotBeLocked')
  })

  test('SES-11 closing releases the session at once, and counts no delivery', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' })
    const first = await queue.accept('s')
    await receiveOne(first)
    await first.close()
    const second = await queue.accept('s')
    expect(await receiveOne(second)).toMatchObject({ body: 'a', deliveryCount: 0 })
  })

  test('SES-11 closing the client releases its sessions', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' })
    const client = space.connect()
    await receiveOne(await queue.through(client).accept('s'))
    await client.close()
    await expect
      .poll(() =>
        queue.accept('s').then(
          () => 'held',
          () => 'refused',
        ),
      )
      .toBe('held')
  })

  test('SES-11 the lock of a session lasts for the lock duration, and can be renewed', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...SESSIONS, lockDuration: 'PT1M' })
    const before = space.clock.wallMs()
    const session = await queue.accept('s')
    const first = session.sessionLockedUntilUtc.getTime()
    expect(first).toBeGreaterThanOrEqual(before + MINUTE_MS)
    expect(first).toBeLessThanOrEqual(space.clock.wallMs() + MINUTE_MS)
    space.clock.jump(40_000)
    const until = await session.renewSessionLock()
    expect(until.getTime()).toBeGreaterThanOrEqual(first + 40_000)
    expect(session.sessionLockedUntilUtc).toEqual(until)
    space.clock.jump(40_000)
    expect(await session.getSessionState()).toBeNull()
  })

  test('SES-11 the client renews the lock of a session by itself', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...SESSIONS, lockDuration: 3000 })
    const session = await queue.accept('s')
    const first = session.sessionLockedUntilUtc.getTime()
    await expect.poll(() => session.sessionLockedUntilUtc.getTime()).toBeGreaterThan(first)
    await session.setSessionState('still here')
  })

  test('SES-12 accept-next takes sessions that are free and have messages', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 'a' }, { body: 'b', sessionId: 'b' })
    const sessions = [await queue.acceptNext(), await queue.acceptNext()]
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(['a', 'b'])
    for (const session of sessions) {
      expect((await receiveOne(session)).body).toBe(session.sessionId)
    }
  })

  test.each(BOTH)('SES-12 without a session accept-next ends with a timeout (%s)', async (kind) => {
    await using space = await Namespace.open()
    await space.receiving(kind, SESSIONS)
    const client = space.connect(IMPATIENT)
    const entity = kind === 'queue' ? space.entity('orders') : space.entity('events', 'billing')
    expect(await codeOf(entity.through(client).acceptNext())).toBe('ServiceTimeout')
  })

  test('SES-12 accept-next does not offer a session that is held', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' })
    await queue.accept('s')
    const impatient = queue.through(space.connect(IMPATIENT))
    expect(await codeOf(impatient.acceptNext())).toBe('ServiceTimeout')
  })

  test('SES-12 accept-next waits for a session that comes', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const waiting = queue.through(space.connect()).acceptNext()
    await queue.send({ body: 'a', sessionId: 's' })
    const session = await waiting
    expect(session.sessionId).toBe('s')
    expect((await receiveOne(session)).body).toBe('a')
  })

  test('SES-12 accept-next waits for a session that is released', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' })
    const first = await queue.accept('s')
    const waiting = queue.through(space.connect()).acceptNext()
    await queue.peek()
    await first.close()
    expect((await waiting).sessionId).toBe('s')
  })

  test('SES-12 waiters for a next session get one each', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const waiting = Array.from({ length: 4 }, () => queue.through(space.connect()).acceptNext())
    await queue.send(...['a', 'b', 'c', 'd'].map((sessionId) => ({ body: 'x', sessionId })))
    const sessions = await Promise.all(waiting)
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('SES-12 after a timeout the client can accept again', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const impatient = queue.through(space.connect(IMPATIENT))
    expect(await codeOf(impatient.acceptNext())).toBe('ServiceTimeout')
    await queue.send({ body: 'a', sessionId: 's' })
    expect((await impatient.acceptNext()).sessionId).toBe('s')
  })

  test('SES-12 a session that is named can be accepted while it is empty', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const session = await queue.accept('empty')
    const waiting = receive(session, 1)
    await queue.send({ body: 'a', sessionId: 'empty' })
    expect(bodies(await waiting)).toEqual(['a'])
  })

  test('SES-13 the state of a session stays until it is cleared', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const first = await queue.accept('s')
    expect(await first.getSessionState()).toBeNull()
    await first.setSessionState({ step: 2, of: ['a', 'b'] })
    await first.close()
    const second = await queue.through(space.connect()).accept('s')
    expect(await second.getSessionState()).toEqual({ step: 2, of: ['a', 'b'] })
    await second.setSessionState(null)
    expect(await second.getSessionState()).toBeNull()
  })

  test('SES-13 a state can be any JSON', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const session = await queue.accept('s')
    for (const state of ['text', '', 0, 12.5, true, false, [1, null], { a: { b: 'ü' } }]) {
      await session.setSessionState(state)
      expect(await session.getSessionState()).toEqual(state)
    }
  })

  test('SES-13 a state survives the messages of its session', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' })
    const first = await queue.accept('s')
    await first.setSessionState('kept')
    await first.completeMessage(await receiveOne(first))
    await first.close()
    expect(await (await queue.accept('s')).getSessionState()).toBe('kept')
  })

  test('SES-13 states of sessions are apart', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const [a, b] = [await queue.accept('a'), await queue.accept('b')]
    await a.setSessionState('of a')
    expect(await b.getSessionState()).toBeNull()
  })

  test('SES-13 a state larger than a message is refused', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...SESSIONS, maxMessageSizeInKilobytes: 64 })
    const session = await queue.accept('s')
    expect(await codeOf(session.setSessionState('x'.repeat(65 * 1024)))).toBe('MessageSizeExceeded')
    expect(await session.getSessionState()).toBeNull()
  })

  test.each(BOTH)('SES-14 an entity with sessions refuses receivers without (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind, SESSIONS)
    const { code, message } = await refusal(entity.receiveOne())
    expect([code, /session/i.test(message)]).toEqual(['GeneralError', true])
  })

  test('SES-14 an entity without sessions refuses to accept one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect((await refusal(queue.accept('s'))).code).not.toBe('ServiceTimeout')
    expect((await refusal(queue.acceptNext())).code).not.toBe('ServiceTimeout')
  })

  test('SES-14 a peek needs no session, and one of a session shows that session', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 'a' }, { body: 'b', sessionId: 'b' })
    expect(bodies(await queue.peek())).toEqual(['a', 'b'])
    const session = await queue.accept('b')
    expect(bodies(await peekAll(session))).toEqual(['b'])
  })

  test('SES-14 dead letters of sessions are received without a session', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 's' })
    const session = await queue.accept('s')
    await session.deadLetterMessage(await receiveOne(session))
    expect(await receiveOne(queue.openDead())).toMatchObject({ body: 'a', sessionId: 's' })
  })

  test('SES-15 when the session’s lock times out, settling fails and deliveries count', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...SESSIONS, lockDuration: 'PT1M' })
    await queue.send({ body: 'a', sessionId: 's' })
    const first = await queue.accept('s', { maxAutoLockRenewalDurationInMs: 0 })
    const message = await receiveOne(first)
    space.clock.jump(61_000)
    expect(await codeOf(first.completeMessage(message))).toBe('SessionLockLost')
    const second = await queue.through(space.connect()).accept('s')
    expect(await receiveOne(second)).toMatchObject({ body: 'a', deliveryCount: 1 })
  })

  test.each(['state', 'renewal', 'new state'] as const)(
    'SES-15 after the session’s lock has ended there is no %s',
    async (what) => {
      await using space = await Namespace.open()
      const queue = await space.queue({ ...SESSIONS, lockDuration: 'PT1M' })
      const session = await queue.accept('s', { maxAutoLockRenewalDurationInMs: 0 })
      space.clock.jump(61_000)
      const call = {
        state: () => session.getSessionState(),
        renewal: () => session.renewSessionLock(),
        'new state': () => session.setSessionState('late'),
      }[what]
      expect(await codeOf(call())).toBe('SessionLockLost')
    },
  )

  test('SES-15 a session whose lock has ended can be accepted by another', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...SESSIONS, lockDuration: 'PT1M' })
    await queue.accept('s', { maxAutoLockRenewalDurationInMs: 0 })
    const other = queue.through(space.connect())
    expect(await codeOf(other.accept('s'))).toBe('SessionCannotBeLocked')
    space.clock.jump(61_000)
    expect((await other.accept('s')).sessionId).toBe('s')
  })

  test('SES-10 an empty text is a session id, too', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.accept('s')
    const ended = await queue.accept('').then(
      ({ sessionId }) => sessionId,
      () => 'refused',
    )
    expect(['', 'refused']).toContain(ended)
  })
})

describe('Expiry of sessions', () => {
  test.each(BOTH)('SES-01 one expired message takes its session along (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind, DEAD)
    await entity.send(
      { body: 'a1', sessionId: 'a' },
      { body: 'a2', sessionId: 'a', timeToLive: MINUTE_MS },
      { body: 'a3', sessionId: 'a' },
    )
    space.clock.jump(MINUTE_MS)
    const session = await entity.accept('a')
    expect(await receiveNow(session)).toEqual([])
    const dead = await entity.peekDead()
    expect(fieldsOf(dead, 'body', 'deadLetterReason')).toEqual(
      ['a1', 'a2', 'a3'].map((body) => [body, 'TTLExpiredException']),
    )
  })

  test('SES-01 without dead-lettering the session is dropped', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send(
      { body: 'a1', sessionId: 'a' },
      { body: 'a2', sessionId: 'a', timeToLive: MINUTE_MS },
    )
    space.clock.jump(MINUTE_MS)
    expect(await receiveNow(await queue.accept('a'))).toEqual([])
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SES-02 other sessions are left alone', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send(
      { body: 'a1', sessionId: 'a', timeToLive: MINUTE_MS },
      { body: 'b1', sessionId: 'b' },
    )
    space.clock.jump(MINUTE_MS)
    expect(await receiveNow(await queue.accept('a'))).toEqual([])
    expect(bodies(await receive(await queue.accept('b'), 1))).toEqual(['b1'])
  })

  test('SES-03 without a listener nothing of a session expires', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send(
      { body: 'a', sessionId: 'a', timeToLive: MINUTE_MS },
      { body: 'b', sessionId: 'a' },
    )
    space.clock.jump(2 * MINUTE_MS)
    expect(await queue.places()).toEqual({ here: ['a', 'b'], dead: [] })
  })

  test('SES-04 what was delivered and not settled survives', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT5M' })
    await queue.send({ body: 'a', sessionId: 's', timeToLive: MINUTE_MS })
    const session = await queue.accept('s')
    const message = await receiveOne(session)
    space.clock.jump(2 * MINUTE_MS)
    await session.completeMessage(message)
    expect(await queue.places()).toEqual({ here: [], dead: [] })
  })

  test('SES-05 a session that has expired takes new messages', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send({ body: 'a', sessionId: 's', timeToLive: MINUTE_MS })
    space.clock.jump(MINUTE_MS)
    const session = await queue.accept('s')
    expect(await receiveNow(session)).toEqual([])
    await queue.send({ body: 'b', sessionId: 's' })
    expect(bodies(await receive(session, 1))).toEqual(['b'])
  })

  test('SES-06 it is the same while the session is held', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...DEAD, lockDuration: 'PT5M' })
    const session = await queue.accept('s')
    await queue.send(
      { body: 'x', sessionId: 's' },
      { body: 'y', sessionId: 's', timeToLive: MINUTE_MS },
    )
    space.clock.jump(2 * MINUTE_MS)
    await queue.settlesAt({ here: [], dead: ['x', 'y'] })
    expect(await receiveNow(session)).toEqual([])
  })

  test('SES-16 a waiter for a next session makes expired ones leave, and gets none of them', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(DEAD)
    await queue.send({ body: 'a', sessionId: 'a', timeToLive: MINUTE_MS })
    space.clock.jump(MINUTE_MS)
    const impatient = queue.through(space.connect(IMPATIENT))
    expect(await codeOf(impatient.acceptNext())).toBe('ServiceTimeout')
    expect(bodies(await queue.peekDead())).toEqual(['a'])
    await queue.send({ body: 'b', sessionId: 'b' })
    expect((await impatient.acceptNext()).sessionId).toBe('b')
  })

  test('SES-02 the expired session of a subscription leaves that of another one', async () => {
    await using space = await Namespace.open()
    const short = await space.subscription({ ...DEAD, defaultMessageTimeToLive: 'PT1M' }, 'short')
    const long = await space.subscription(DEAD, 'long')
    await short.send({ body: 'a', sessionId: 's' })
    space.clock.jump(MINUTE_MS)
    expect(await receiveNow(await short.accept('s'))).toEqual([])
    expect(only(await receive(await long.accept('s'), 1)).body).toBe('a')
  })
})
