import { beforeEach, describe, expect, it } from 'vitest'
import { ManagedBroker, wire } from './managed-broker.fixture.ts'

const LINK = 'mine'
const LOST = { status: 410, condition: 'com.microsoft:session-lock-lost' }

let world: ManagedBroker

beforeEach(async () => {
  world = await ManagedBroker.open()
  await world.broker.createQueue('q', { requiresSession: true, lockDuration: 'PT10S' })
  return () => world[Symbol.asyncDispose]()
})

describe('renew-session-lock', () => {
  it('SES-11 answers with the new end of the lock', async () => {
    await world.hold('q', 'a', LINK)
    await world.clock.advance(4000)
    const answer = await world.ask('q', 'renew-session-lock', { 'session-id': 'a' }, LINK)
    const expiration = new Date(world.clock.wallMs() + 10_000)
    expect(answer).toMatchObject({ status: 200, body: { expiration } })
  })

  it('SES-15 answers 410 when the lock has ended, or another link holds the session', async () => {
    await world.hold('q', 'a', LINK)
    const body = { 'session-id': 'a' }
    expect(await world.ask('q', 'renew-session-lock', body, 'other')).toMatchObject(LOST)
    await world.clock.advance(11_000)
    expect(await world.ask('q', 'renew-session-lock', body, LINK)).toMatchObject(LOST)
  })
})

describe('set-session-state and get-session-state', () => {
  const stateOf = async (): Promise<unknown> => {
    const answer = await world.ask('q', 'get-session-state', { 'session-id': 'a' }, LINK)
    expect(answer.status).toBe(200)
    return answer.body
  }
  const setState = (state: unknown) =>
    world.ask('q', 'set-session-state', { 'session-id': 'a', 'session-state': state }, LINK)

  it.each([null, Buffer.alloc(0)])(
    'SES-13 keeps bytes as they are, and clears them with %o',
    async (nothing) => {
      await world.hold('q', 'a', LINK)
      expect(await stateOf()).toEqual({ 'session-state': null })
      // What the official client writes for null, among others.
      for (const text of ['{"a":1}', 'null', 'x'.repeat(300)]) {
        expect(await setState(Buffer.from(text))).toMatchObject({ status: 200 })
        expect(await stateOf()).toEqual({ 'session-state': Buffer.from(text) })
      }
      expect(await setState(nothing)).toMatchObject({ status: 200 })
      expect(await stateOf()).toEqual({ 'session-state': null })
    },
  )

  it('refuses a state that is no binary, or too large', async () => {
    await world.hold('q', 'a', LINK)
    expect(await setState('text')).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining('session-state'),
    })
    expect(await setState(Buffer.alloc(1024 * 1024 + 1))).toMatchObject({
      status: 403,
      condition: 'amqp:link:message-size-exceeded',
    })
    expect(await stateOf()).toEqual({ 'session-state': null })
  })

  it.each(['get-session-state', 'set-session-state'])(
    'SES-13 %s is for the holder only',
    async (operation) => {
      await world.hold('q', 'a', LINK)
      const body = { 'session-id': 'a', 'session-state': Buffer.from('x') }
      expect(await world.ask('q', operation, body, 'other')).toMatchObject(LOST)
      expect(await world.ask('q', operation, {}, LINK)).toMatchObject({
        status: 400,
        description: expect.stringContaining('session-id'),
      })
    },
  )
})

describe('get-message-sessions', () => {
  /** The last time of .NET. */
  const any = new Date('9999-12-31T23:59:59.999Z')
  const list = async (skip: number, top: number, since = any) => {
    const page = { skip: wire.int(skip), top: wire.int(top) }
    const body = { ...page, 'last-updated-time': since }
    return world.ask('q', 'get-message-sessions', body)
  }

  it('SES-13 lists sessions that have messages or a state, in pages, and ends with 204', async () => {
    const sender = world.broker.createSender('q')
    await sender.sendMessages(['c', 'a', 'a'].map((sessionId) => ({ body: 1, sessionId })))
    const { held } = await world.hold('q', 'b', LINK)
    await held.setState(new Uint8Array([1]))
    expect(await list(0, 2)).toMatchObject({
      status: 200,
      body: { skip: 0, 'sessions-ids': ['a', 'b'] },
    })
    expect(await list(2, 2)).toMatchObject({ body: { skip: 2, 'sessions-ids': ['c'] } })
    expect(await list(3, 2)).toMatchObject({ status: 204 })
    expect(await list(2 ** 31 - 1, 2)).toMatchObject({ status: 204 })
  })

  it('SES-13 lists those whose state was set after a time', async () => {
    await world.broker.createSender('q').sendMessages({ body: 1, sessionId: 'without' })
    const setMs: number[] = []
    for (const name of ['b', 'a', 'c']) {
      const { held } = await world.hold('q', name, name)
      await held.setState(new Uint8Array([1]))
      setMs.push(world.clock.wallMs())
      await world.clock.advance(1_000)
      // That its lock is renewed is no news of its state.
      await held.renew()
    }
    const since = (index: number) => new Date((setMs[index] ?? 0) - 1)
    expect(await list(0, 5, since(0))).toMatchObject({ body: { 'sessions-ids': ['a', 'b', 'c'] } })
    expect(await list(1, 1, since(0))).toMatchObject({ body: { 'sessions-ids': ['b'] } })
    expect(await list(0, 5, since(1))).toMatchObject({ body: { 'sessions-ids': ['a', 'c'] } })
    expect(await list(0, 5, new Date(world.clock.wallMs()))).toMatchObject({ status: 204 })
  })

  it('gives at most 1000 at a time, and skips more', async () => {
    const sender = world.broker.createSender('q')
    const names = Array.from({ length: 1500 }, (_, n) => `s${String(n).padStart(4, '0')}`)
    await sender.sendMessages(names.map((sessionId) => ({ body: 1, sessionId })))
    const first = await list(0, 2000)
    expect(first.body['sessions-ids']).toEqual(names.slice(0, 1000))
    const last = await list(1200, 1000)
    expect(last.body['sessions-ids']).toEqual(names.slice(1200))
  })

  it('SES-14 is refused where there are no sessions', async () => {
    await world.broker.createQueue('plain')
    const page = { skip: wire.int(0), top: wire.int(1) }
    expect(await world.ask('plain', 'get-message-sessions', page)).toMatchObject({
      status: 400,
      condition: 'amqp:not-allowed',
    })
  })

  it.each(['skip', 'top'])('names %s when it is missing', async (name) => {
    const page: Record<string, unknown> = { skip: wire.int(0), top: wire.int(1) }
    delete page[name]
    expect(await world.ask('q', 'get-message-sessions', page)).toMatchObject({
      status: 400,
      description: expect.stringContaining(name),
    })
  })
})
