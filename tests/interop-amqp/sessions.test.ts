import { describe, expect, test } from 'vitest'
import { receiveOne } from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const SESSIONS = { requiresSession: true }
/** A client that gives up an accept-next soon. */
const IMPATIENT = { client: { retryOptions: { maxRetries: 0, timeoutInMs: 1000 } } }

describe('Sessions on the wire', () => {
  test('SES-10 messages of a session carry its id', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    await queue.send({ body: 'a', sessionId: 'sëssion 1' })
    const session = await queue.accept('sëssion 1')
    expect((await receiveOne(session)).sessionId).toBe('sëssion 1')
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

  test('SES-11 the client renews the lock of a session by itself', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ ...SESSIONS, lockDuration: 3000 })
    const session = await queue.accept('s')
    const first = session.sessionLockedUntilUtc.getTime()
    await expect.poll(() => session.sessionLockedUntilUtc.getTime()).toBeGreaterThan(first)
    await session.setSessionState('still here')
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

  test('SES-13 a state can be any JSON', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(SESSIONS)
    const session = await queue.accept('s')
    for (const state of ['text', '', 0, 12.5, true, false, [1, null], { a: { b: 'ü' } }]) {
      await session.setSessionState(state)
      expect(await session.getSessionState()).toEqual(state)
    }
  })

  test('SES-14 an entity without sessions refuses to accept one', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect((await refusal(queue.accept('s'))).code).not.toBe('ServiceTimeout')
    expect((await refusal(queue.acceptNext())).code).not.toBe('ServiceTimeout')
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
