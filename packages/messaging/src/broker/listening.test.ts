import { StoreUnavailableError } from '@tidemark/contracts'
import { describe, expect, it, vi } from 'vitest'
import type { MessageHandlers } from './receiver-options.ts'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const IGNORE: MessageHandlers = {
  processMessage: () => Promise.resolve(),
  processError: () => Promise.resolve(),
}
const AT_ONCE = { maxWaitTimeInMs: 0 }
const HOUR_MS = 3_600_000

describe('EntityListening', () => {
  it('asks for nothing and has no timer while nothing arrives and nothing is due', async () => {
    await using world = await SimulatedBroker.open()
    const { broker, clock } = world
    for (const name of ['a', 'b', 'c']) {
      await broker.createQueue(name)
      broker.createReceiver(name).subscribe(IGNORE)
      broker
        .createReceiver(name, { prefetchCount: 10 })
        .subscribe(IGNORE, { maxConcurrentCalls: 5 })
    }
    await world.pass(5_000)
    world.taken()
    await world.pass(HOUR_MS)
    expect(world.taken()).toEqual([])
    expect(clock.sleeping).toBe(0)
  })

  it('costs nothing once no receiver is open', async () => {
    await using world = await SimulatedBroker.open()
    const { broker, clock } = world
    await broker.createQueue('q', { lockDuration: 'PT5S' })
    const sender = broker.createSender('q')
    await sender.sendMessages([{ body: 1, timeToLive: 60_000 }, { body: 2 }])
    const receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, AT_ONCE)
    await receiver.close()
    await world.settled()
    world.taken()
    await world.pass(HOUR_MS)
    expect(world.taken()).toEqual([])
    expect(clock.sleeping).toBe(0)
  })

  it('sets no timer for each commit while nobody waits', async () => {
    await using world = await SimulatedBroker.open()
    const { broker, clock } = world
    await broker.createQueue('q')
    await using receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, AT_ONCE)
    await world.pass(5_000)
    const sleeps = vi.spyOn(clock, 'sleep')
    const sender = broker.createSender('q')
    for (let place = 0; place < 20; place += 1) await sender.sendMessages({ body: place })
    expect(sleeps.mock.calls.length).toBeLessThanOrEqual(3)
    // Whoever comes meanwhile gets them.
    expect(await receiver.receiveMessages(20, AT_ONCE)).toHaveLength(20)
  })

  it('does not look at what other entities get', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('busy')
    await broker.createQueue('quiet')
    broker.createReceiver('quiet').subscribe(IGNORE)
    // The first commit after a watch began may be told to all.
    await broker.createSender('busy').sendMessages({ body: 1 })
    await world.pass(5_000)
    world.taken()
    await broker.createSender('busy').sendMessages({ body: 2 })
    await world.pass(5_000)
    expect(world.taken()).toEqual(['send'])
  })

  it('EXP-03 lets each message leave within 250 ms of its expiry while a receiver is attached', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { deadLetteringOnMessageExpiration: true })
    const receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, AT_ONCE)
    const sender = broker.createSender('q')
    for (let place = 0; place < 20; place += 1) {
      await sender.sendMessages({ body: place, timeToLive: 1_000 + place * 37 })
    }
    const dead = broker.createReceiver('q', { subQueueType: 'deadLetter' })
    for (let passedMs = 0; passedMs < 2_000; passedMs += 50) {
      await world.pass(50)
      const left = await receiver.peekMessages(100, { fromSequenceNumber: 0 })
      const nowMs = world.clock.wallMs()
      for (const { expiresAtUtc } of left) {
        expect(nowMs - expiresAtUtc.getTime()).toBeLessThanOrEqual(250)
      }
    }
    expect(await dead.peekMessages(100)).toHaveLength(20)
  })

  it('lets messages that expire one after the other leave together', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q')
    const receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, AT_ONCE)
    const messages = Array.from({ length: 500 }, (_, place) => ({
      body: place,
      timeToLive: 1_000 + place,
    }))
    await broker.createSender('q').sendMessages(messages)
    await world.pass(900)
    world.taken()
    for (let passedMs = 0; passedMs < 1_000; passedMs += 5) await world.pass(5)
    expect(await receiver.peekMessages(1)).toEqual([])
    expect(world.taken().filter((kind) => kind === 'applyDue').length).toBeLessThan(30)
  })

  it('EXP-06 gives a message to one who waits when the lock of another broker that died has ended', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { lockDuration: 'PT10S' })
    const dying = world.another().createReceiver('q')
    const waiting = broker.createReceiver('q').receiveMessages(1)
    await world.settled()
    // The one that waited first gets the first message, the other one the second.
    const second = dying.receiveMessages(1)
    await world.settled()
    await broker.createSender('q').sendMessages([{ body: 'a' }, { body: 'b' }])
    const taken = [...(await waiting), ...(await second)]
    expect(new Set(taken.map(({ body }) => body))).toEqual(new Set(['a', 'b']))
    const next = broker.createReceiver('q').receiveMessages(2, { maxTimeAfterFirstMessageInMs: 0 })
    await world.pass(9_900)
    world.taken()
    await world.pass(200)
    expect(await next).toHaveLength(2)
  })

  it('EXP-06 knows of the end of a lock that was given while it looked', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { lockDuration: 'PT10S' })
    const receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, AT_ONCE)
    await broker.createSender('q').sendMessages({ body: 1 })
    await world.pass(500)
    const { promise, resolve } = Promise.withResolvers<void>()
    world.lateLooks = promise
    world.taken()
    await world.pass(1_000)
    expect(world.taken()).toEqual(['look'])
    expect(await receiver.receiveMessages(1, AT_ONCE)).toHaveLength(1)
    world.lateLooks = undefined
    resolve()
    await world.pass(9_000)
    world.taken()
    await world.pass(1_500)
    expect(world.taken()).toContain('applyDue')
  })

  it('serves receives that wait with one command, first come, first served', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q')
    const receivers = Array.from({ length: 20 }, () => broker.createReceiver('q'))
    const received: number[] = []
    const waits = receivers.map(async (receiver, place) => {
      const messages = await receiver.receiveMessages(1)
      expect(messages).toHaveLength(1)
      received.push(place)
    })
    await world.settled()
    world.taken()
    const messages = Array.from({ length: 20 }, (_, place) => ({ body: place }))
    await broker.createSender('q').sendMessages(messages.slice(0, 5))
    await world.settled()
    expect(received).toEqual([0, 1, 2, 3, 4])
    expect(world.taken().filter((kind) => kind === 'receive').length).toBeLessThanOrEqual(2)
    await broker.createSender('q').sendMessages(messages.slice(5))
    await Promise.all(waits)
    expect(received).toEqual(messages.map(({ body }) => body))
  })

  it('TMP-05 keeps an entity with an idle period while a receiver waits', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { autoDeleteOnIdle: 10_000 })
    const waiting = broker.createReceiver('q').receiveMessages(1, { maxWaitTimeInMs: 40_000 })
    for (let passedMs = 0; passedMs < 40_000; passedMs += 500) await world.pass(500)
    expect(await waiting).toEqual([])
    expect((await broker.getQueue('q')).name).toBe('q')
    expect(world.taken().filter((kind) => kind === 'touch').length).toBeLessThanOrEqual(45)
  })

  it('TMP-12 rejects receives that wait when the entity is deleted', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q')
    const waiting = broker.createReceiver('q').receiveMessages(1)
    const elsewhere = world.another().createReceiver('q').receiveMessages(1)
    const expected = { code: 'ERR_MESSAGING_ENTITY_NOT_FOUND' }
    const rejected = Promise.all(
      [waiting, elsewhere].map((one) => expect(one).rejects.toMatchObject(expected)),
    )
    await world.settled()
    await broker.deleteQueue('q')
    await world.pass(100)
    await rejected
  })

  it('looks less and less often while the store is away, and goes on afterwards', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q')
    const receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, AT_ONCE)
    await broker.createSender('q').sendMessages({ body: 1, timeToLive: 2_000 })
    await world.pass(1_500)
    world.failure = new StoreUnavailableError('no store')
    world.taken()
    for (let passedMs = 0; passedMs < 20_000; passedMs += 10) await world.pass(10)
    const calls = world.taken()
    expect(calls.length).toBeGreaterThan(3)
    expect(calls.length).toBeLessThan(30)
    world.failure = undefined
    await world.pass(6_000)
    expect(await receiver.peekMessages(1)).toEqual([])
  })

  it('EXP-04 enforces no expiry for one who only peeks or settles', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { deadLetteringOnMessageExpiration: true })
    await broker.createSender('q').sendMessages({ body: 'x', timeToLive: 900 })
    const receiver = broker.createReceiver('q')
    expect(await receiver.peekMessages(1)).toHaveLength(1)
    await world.pass(2_000)
    expect(await receiver.peekMessages(1, { fromSequenceNumber: 0 })).toHaveLength(1)
  })
})
