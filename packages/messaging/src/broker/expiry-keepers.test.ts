import { describe, expect, it } from 'vitest'
import type { QueueOptions } from '../entities/options.ts'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const HOUR_MS = 3_600_000
const TIMER: QueueOptions = {
  expires: 'always',
  defaultMessageTimeToLive: 1000,
  deadLetteringOnMessageExpiration: true,
}

/** Without a look at it by a broker, which would bring messages. */
async function inDeadLetterQueue(world: SimulatedBroker, path: string): Promise<number> {
  const engine = await world.database.openMessages()
  const { entities } = await engine.readCatalog()
  const record = entities.find((one) => one.path === `${path}/$DeadLetterQueue`)
  const { answer } = await engine.perform<'peek'>(
    {
      kind: 'peek',
      entity: record?.number ?? 0,
      touch: false,
      session: undefined,
      fromNumber: 0,
      max: 10,
      maxBytes: 1e6,
    },
    { lockMs: undefined },
  )
  return 'messages' in answer ? answer.messages.length : 0
}

describe('a queue that always expires', () => {
  it.each([{}, { requiresSession: true }])(
    'EXP-33 needs no listener, and rests while nothing is due: %j',
    async (options) => {
      await using world = await SimulatedBroker.open()
      await world.broker.createQueue('q', { ...TIMER, ...options })
      await world.broker.createSender('q').sendMessages({ body: 1, sessionId: 's' })
      await world.pass(900)
      expect(await inDeadLetterQueue(world, 'q')).toBe(0)
      await world.pass(350)
      expect(await inDeadLetterQueue(world, 'q')).toBe(1)
      await world.pass(5000)
      world.taken()
      await world.pass(HOUR_MS)
      expect(world.taken()).toEqual([])
      expect(world.clock.sleeping).toBe(0)
    },
  )

  it('EXP-33 is kept by every broker that knows it, from its first use on', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('q', TIMER)
    await world.broker.createQueue('other')
    await world.broker.createSender('q').sendMessages({ body: 1 })
    await world.broker.close()
    await world.pass(5000)
    expect(await inDeadLetterQueue(world, 'q')).toBe(0)
    await world.another().listQueues()
    await world.pass(1000)
    expect(await inDeadLetterQueue(world, 'q')).toBe(1)
  })

  it('EXP-33 follows the setting, and outlives its receivers', async () => {
    await using world = await SimulatedBroker.open()
    const { broker } = world
    await broker.createQueue('q', { ...TIMER, expires: 'whileListening' })
    const sender = broker.createSender('q')
    await sender.sendMessages({ body: 1 })
    await world.pass(5000)
    expect(await inDeadLetterQueue(world, 'q')).toBe(0)
    await broker.updateQueue('q', { expires: 'always' })
    await world.pass(1000)
    expect(await inDeadLetterQueue(world, 'q')).toBe(1)
    const receiver = broker.createReceiver('q')
    await receiver.receiveMessages(1, { maxWaitTimeInMs: 0 })
    await receiver.close()
    await sender.sendMessages({ body: 2 })
    await world.pass(5000)
    expect(await inDeadLetterQueue(world, 'q')).toBe(2)
    await broker.updateQueue('q', { expires: 'whileListening' })
    await sender.sendMessages({ body: 3 })
    await world.pass(5000)
    expect(await inDeadLetterQueue(world, 'q')).toBe(2)
  })

  it('EXP-33 TMP-05 is not used by that', async () => {
    await using world = await SimulatedBroker.open()
    await world.broker.createQueue('q', { ...TIMER, autoDeleteOnIdle: HOUR_MS })
    await world.pass(HOUR_MS)
    expect(await world.broker.listQueues()).toEqual([])
  })
})
