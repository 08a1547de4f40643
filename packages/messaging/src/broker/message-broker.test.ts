import { describe, expect, it } from 'vitest'
import { openMessaging, type MessagingOptions } from './message-broker.ts'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const INVALID = { code: 'ERR_INVALID_OPTION' }

describe('openMessaging', () => {
  it.each<[string, Record<string, unknown>]>([
    ['tier', { tier: 'Gold' }],
    ['clock', { clock: {} }],
    ['random', { random: 4 }],
    ['limits', { limits: { minLockDuration: 'PT1H' } }],
    ['teir', { teir: 'Basic' }],
  ])('refuses a bad %s', async (name, options) => {
    await using world = await SimulatedBroker.open()
    const given: MessagingOptions = options
    expect(() => openMessaging(world.database, given)).toThrow(name)
    expect(() => openMessaging(world.database, given)).toThrow(expect.objectContaining(INVALID))
  })

  it('asks the store for nothing before it is used, nor when it is closed', async () => {
    await using world = await SimulatedBroker.open()
    const broker = world.another()
    broker.createSender('q')
    await broker.createReceiver('q').close()
    await broker.close()
    await broker.close()
    expect(world.taken()).toEqual([])
  })
})

describe('MessageBroker', () => {
  it.each([undefined, null, 5, {}, { topic: 't' }, { topic: 1, subscription: 2 }])(
    'refuses %j as an entity',
    async (entity) => {
      await using world = await SimulatedBroker.open()
      const { broker } = world
      const wrong = entity as never
      expect(() => broker.createSender(wrong)).toThrow(expect.objectContaining(INVALID))
      expect(() => broker.createReceiver(wrong)).toThrow(expect.objectContaining(INVALID))
      await expect(broker.redriveDeadLetters(wrong)).rejects.toMatchObject(INVALID)
    },
  )

  it('TMP-05 stamps an activity at most every tenth of the idle period', async () => {
    await using world = await SimulatedBroker.open()
    const { broker, database } = world
    await broker.createQueue('q', { autoDeleteOnIdle: 10_000 })
    const sender = broker.createSender('q')
    const stampOf = async (): Promise<number | undefined> => {
      const { entities } = await (await database.openMessages()).readCatalog()
      return entities.find(({ path }) => path === 'q')?.accessedMs
    }
    const stamps = new Set<number | undefined>()
    for (let sent = 0; sent < 30; sent++) {
      await sender.sendMessages({ body: sent })
      stamps.add(await stampOf())
      await world.pass(500)
    }
    // 15 seconds.
    expect(stamps.size).toBeGreaterThanOrEqual(13)
    expect(stamps.size).toBeLessThanOrEqual(16)
    await world.pass(8_000)
    await broker.getQueue('q')
    await world.pass(2_000)
    await expect(sender.sendMessages({ body: 'late' })).rejects.toMatchObject({
      code: 'ERR_MESSAGING_ENTITY_NOT_FOUND',
    })
  })

  it('an idle entity costs no command, also while somebody waits', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createTopic('t')
    await broker.createSubscription({ topic: 't', subscription: 's' })
    const receiver = broker.createReceiver({ topic: 't', subscription: 's' })
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000_000 })
    await world.pass(2_000)
    world.taken()
    await world.pass(3_600_000)
    expect(world.taken()).toEqual([])
    await broker.createSender('t').sendMessages({ body: 1 })
    expect(await waiting).toMatchObject([{ body: 1 }])
  })
})
