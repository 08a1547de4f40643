import { expect, test } from 'vitest'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const WAITS = { maxWaitMs: Infinity, afterFirstMs: 0 }

test('a wait that is ended receives what a command on its way brings, and gives nothing back', async () => {
  await using world = await SimulatedBroker.open()
  await world.broker.createQueue('q')
  const link = world.broker.front().openLink('q', 'peekLock')
  const wait = new AbortController()
  const received = link.receive({ ...WAITS, max: 5, waitEnds: wait.signal, signal: undefined })
  await world.settled()
  await world.broker.createSender('q').sendMessages({ body: 1 })
  wait.abort()
  const early = await received
  const rest = await link.receive({ ...WAITS, max: 5, waitEnds: wait.signal, signal: undefined })
  // Whether the first or the second of them got it: it is there, and was delivered once.
  expect([...early, ...rest].map(({ message }) => message.deliveries)).toEqual([0])
  await link.close()
})

test('a link listens from its opening on, also without a receive (EXP-04)', async () => {
  await using world = await SimulatedBroker.open()
  await world.broker.createQueue('q', { deadLetteringOnMessageExpiration: true })
  const link = world.broker.front().openLink('q', 'peekLock')
  await link.listen()
  await world.broker.createSender('q').sendMessages({ body: 1, timeToLive: 100 })
  await world.pass(1_000)
  const dead = world.broker.createReceiver('q', { subQueueType: 'deadLetter' })
  expect(await dead.peekMessages(5)).toMatchObject([{ deadLetterReason: 'TTLExpiredException' }])
  await link.close()
})

test('SES-11 the session of a link is released with it, and its lock is not renewed', async () => {
  await using world = await SimulatedBroker.open()
  await world.broker.createQueue('q', { requiresSession: true, lockDuration: 'PT10S' })
  const front = world.broker.front()
  const { signal } = new AbortController()
  const accept = { mode: 'peekLock', sessionId: 'a', maxWaitMs: 0, signal } as const
  const { link, held } = await front.acceptSession('q', accept)
  await expect(front.acceptSession('q', accept)).rejects.toMatchObject({
    code: 'ERR_SESSION_CANNOT_BE_LOCKED',
  })
  await link.close()
  const again = await front.acceptSession('q', accept)
  await world.pass(11_000)
  expect([held.isHeld, again.held.isHeld]).toEqual([false, false])
  await again.link.close()
})

test('SES-12 a client that has left no longer waits for a session', async () => {
  await using world = await SimulatedBroker.open()
  await world.broker.createQueue('q', { requiresSession: true })
  const leaving = new AbortController()
  const accepted = world.broker.front().acceptSession('q', {
    mode: 'peekLock',
    sessionId: undefined,
    maxWaitMs: 60_000,
    signal: leaving.signal,
  })
  const refused = expect(accepted).rejects.toMatchObject({ name: 'AbortError' })
  await world.settled()
  leaving.abort()
  await world.pass(61_000)
  await refused
})

test('links of a front end with its broker', async () => {
  await using world = await SimulatedBroker.open()
  await world.broker.createQueue('q')
  const link = world.broker.front().openLink('q', 'peekLock')
  const received = link.receive({ ...WAITS, max: 1, signal: undefined })
  await world.settled()
  const closed = expect(received).rejects.toMatchObject({ code: 'ERR_LINK_CLOSED' })
  await world.broker.close()
  await closed
  expect(link.isClosed).toBe(true)
})
