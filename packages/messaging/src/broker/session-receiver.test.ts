import { describe, expect, it } from 'vitest'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const AT_ONCE = { maxWaitTimeInMs: 0 }
const LOST = { code: 'ERR_SESSION_LOCK_LOST' }

async function withSessions(): Promise<SimulatedBroker> {
  const world = await SimulatedBroker.open()
  await world.broker.createQueue('s', {
    lockDuration: 'PT10S',
    requiresSession: true,
    deadLetteringOnMessageExpiration: true,
  })
  return world
}

async function send(
  world: SimulatedBroker,
  sessionId: string,
  ...bodies: readonly unknown[]
): Promise<void> {
  const messages = bodies.map((body) => ({ body, sessionId }))
  await world.broker.createSender('s').sendMessages(messages)
}

describe('SessionReceiver', () => {
  it('SES-10 receives the messages of its session, in their order', async () => {
    await using world = await withSessions()
    await send(world, 'a', 1, 2)
    await send(world, 'b', 3)
    const receiver = await world.broker.acceptSession<number>('s', 'a')
    const messages = await receiver.receiveMessages(5, AT_ONCE)
    expect(messages.map(({ body }) => body)).toEqual([1, 2])
    const waiting = receiver.receiveMessages(1)
    await world.settled()
    await send(world, 'b', 4)
    await send(world, 'a', 5)
    expect((await waiting).map(({ body }) => body)).toEqual([5])
  })

  it('gives a session to each that waits for one, those that waited longest first', async () => {
    await using world = await withSessions()
    const waits = Array.from({ length: 10 }, () => world.broker.acceptNextSession('s'))
    const accepted: number[] = []
    for (const [place, wait] of waits.entries()) void wait.then(() => accepted.push(place))
    await world.settled()
    for (let place = 0; place < 6; place += 1) await send(world, `session ${place}`, place)
    await world.settled()
    expect(accepted).toEqual([0, 1, 2, 3, 4, 5])
    for (let place = 6; place < 10; place += 1) await send(world, `session ${place}`, place)
    expect(new Set((await Promise.all(waits)).map(({ sessionId }) => sessionId)).size).toBe(10)
  })

  it('frees a session that was granted to one who no longer waits', async () => {
    await using world = await withSessions()
    const abort = new AbortController()
    const waiting = world.broker.acceptNextSession('s', { signal: abort.signal })
    const rejected = expect(waiting).rejects.toThrow('enough')
    await world.settled()
    const sending = send(world, 'a', 1)
    abort.abort(new Error('enough'))
    await Promise.all([sending, rejected])
    await world.settled()
    const next = await world.another().acceptNextSession('s', AT_ONCE)
    expect(await next.receiveMessages(1, AT_ONCE)).toMatchObject([{ deliveryCount: 0 }])
  })

  it('renews the lock of its session for as long as the user wants', async () => {
    await using world = await withSessions()
    await send(world, 'a', 1)
    const receiver = await world.broker.acceptSession('s', 'a', {
      maxAutoLockRenewalDurationInMs: 60_000,
    })
    const [message] = await receiver.receiveMessages(1, AT_ONCE)
    await world.pass(59_000)
    await receiver.completeMessage(message!)
    await world.pass(20_000)
    await expect(receiver.receiveMessages(1, AT_ONCE)).rejects.toMatchObject(LOST)
  })

  it('SES-15 rejects everything once the lock has ended', async () => {
    await using world = await withSessions()
    await send(world, 'a', 1)
    const receiver = await world.broker.acceptSession('s', 'a', {
      maxAutoLockRenewalDurationInMs: 0,
    })
    const [message] = await receiver.receiveMessages(1, AT_ONCE)
    const waiting = expect(receiver.receiveMessages(1)).rejects.toMatchObject(LOST)
    await world.pass(10_000)
    await waiting
    await expect(receiver.completeMessage(message!)).rejects.toMatchObject(LOST)
    await expect(receiver.renewSessionLock()).rejects.toMatchObject(LOST)
    await expect(receiver.getSessionState()).rejects.toMatchObject(LOST)
    await expect(receiver.setSessionState(new Uint8Array())).rejects.toMatchObject(LOST)
    await expect(receiver.peekMessages(1)).rejects.toMatchObject(LOST)
    const next = await world.broker.acceptNextSession('s')
    expect(await next.receiveMessages(1, AT_ONCE)).toMatchObject([{ deliveryCount: 1 }])
  })

  it('SES-13 keeps the state of its session', async () => {
    await using world = await withSessions()
    const receiver = await world.broker.acceptSession('s', 'a')
    expect(await receiver.getSessionState()).toBeUndefined()
    await receiver.setSessionState(new Uint8Array([1, 2]))
    await receiver.close()
    await expect(receiver.getSessionState()).rejects.toMatchObject({ code: 'ERR_LINK_CLOSED' })
    const next = await world.broker.acceptSession('s', 'a')
    expect(await next.getSessionState()).toEqual(new Uint8Array([1, 2]))
    await next.setSessionState(undefined)
    expect(await next.getSessionState()).toBeUndefined()
  })

  it('SES-06 lets messages of its session expire, and of no other, while nobody accepts the next', async () => {
    await using world = await withSessions()
    const { broker } = world
    await broker.acceptSession('s', 'a')
    const sender = broker.createSender('s')
    await sender.sendMessages([
      { body: 1, sessionId: 'a' },
      { body: 2, sessionId: 'a', timeToLive: 800 },
      { body: 3, sessionId: 'b', timeToLive: 500 },
    ])
    await world.pass(700)
    world.taken()
    await world.pass(400)
    const dead = broker.createReceiver('s', { subQueueType: 'deadLetter' })
    expect(await dead.peekMessages(5)).toMatchObject([{ body: 1 }, { body: 2 }])
    expect(await broker.createReceiver('s').peekMessages(5)).toMatchObject([{ body: 3 }])
    // That the other one's message has expired is nobody's business here.
    world.taken()
    await world.pass(4_000)
    expect(world.taken().filter((kind) => kind === 'applyDue')).toEqual([])
  })

  it('subscribes to its session', async () => {
    await using world = await withSessions()
    await send(world, 'a', 1, 2)
    const receiver = await world.broker.acceptSession<number>('s', 'a')
    const bodies: number[] = []
    receiver.subscribe({
      processMessage: ({ body }) => {
        bodies.push(body)
        return Promise.resolve()
      },
      processError: () => Promise.resolve(),
    })
    await world.settled()
    expect(bodies).toEqual([1, 2])
    expect(await receiver.peekMessages(1)).toEqual([])
  })

  it('has locks of messages only as part of its session', async () => {
    await using world = await withSessions()
    await send(world, 'a', 1)
    const receiver = await world.broker.acceptSession('s', 'a')
    const [message] = await receiver.receiveMessages(1, AT_ONCE)
    await expect(receiver.renewMessageLock(message!)).rejects.toMatchObject({
      code: 'ERR_MESSAGING_NOT_ALLOWED',
    })
    const until = await receiver.renewSessionLock()
    expect(receiver.sessionLockedUntilUtc).toEqual(until)
  })
})
