import Long from 'long'
import { describe, expect, test } from 'vitest'
import { bodies, type ClientEntity } from './client-entity.ts'
import { codeOf, Namespace } from './interop-amqp.fixture.ts'

const MINUTE_MS = 60_000
const IDLE = { autoDeleteOnIdle: 'PT3M' }

const ACTIVITIES: readonly (readonly [string, (queue: ClientEntity) => Promise<unknown>])[] = [
  ['a send', (queue) => queue.send('a')],
  ['a receive that finds nothing', (queue) => queue.receiveNow()],
  ['a peek', (queue) => queue.peek()],
]

describe('Temporary entities', () => {
  test('TMP-01 an entity that is not used is removed', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    await queue.send('a')
    space.clock.jump(4 * MINUTE_MS)
    expect(await codeOf(queue.send('b'))).toBe('MessagingEntityNotFound')
  })

  test('TMP-01 a topic and a subscription are removed, too', async () => {
    await using space = await Namespace.open()
    await space.topic(IDLE)
    const billing = await space.subscription(IDLE)
    space.clock.jump(4 * MINUTE_MS)
    expect(await codeOf(billing.peek())).toBe('MessagingEntityNotFound')
    expect(await codeOf(billing.send('a'))).toBe('MessagingEntityNotFound')
  })

  test('TMP-02 a configuration can lower the shortest period, and else five minutes is it', async () => {
    await using space = await Namespace.open({ limits: {} })
    const config = (limits: object, autoDeleteOnIdle: string): object => ({
      UserConfig: {
        Limits: limits,
        Namespaces: [
          { Queues: [{ Name: 'temporary', Properties: { AutoDeleteOnIdle: autoDeleteOnIdle } }] },
        ],
      },
    })
    await expect(space.broker.applyConfig(config({}, 'PT1M'))).rejects.toThrow('AutoDeleteOnIdle')
    await space.broker.applyConfig(config({ MinAutoDeleteOnIdle: 'PT1M' }, 'PT1M'))
    const queue = space.entity('temporary')
    await queue.send('a')
    space.clock.jump(2 * MINUTE_MS)
    expect(await codeOf(queue.send('b'))).toBe('MessagingEntityNotFound')
  })

  test('TMP-03 a namespace that refuses deletions removes idle entities', async () => {
    await using space = await Namespace.open({ resourceLock: 'CanNotDelete' })
    const queue = await space.queue(IDLE)
    await expect(space.broker.deleteQueue(queue.name)).rejects.toThrow()
    space.clock.jump(4 * MINUTE_MS)
    expect(await codeOf(queue.send('a'))).toBe('MessagingEntityNotFound')
  })

  test('TMP-04 an entity without a period stays', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    space.clock.jump(50 * MINUTE_MS)
    await queue.send('a')
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test.each(ACTIVITIES)('TMP-05 %s restarts the period of a queue', async (_, act) => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    for (let round = 0; round < 3; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      await act(queue)
    }
    await queue.send('alive')
  })

  test('TMP-05 a receive that waits holds the queue', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    const other = await space.queue({}, 'other')
    await queue.receiveNow()
    const waiting = queue.receive(1)
    for (let round = 0; round < 4; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      await other.peek()
    }
    await queue.send('a')
    expect(bodies(await waiting)).toEqual(['a'])
  })

  test('TMP-05 a scheduled message holds the queue until its time', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    await queue.sender.scheduleMessages({ body: 'a' }, space.in(10 * MINUTE_MS))
    space.clock.jump(8 * MINUTE_MS)
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('TMP-06 what is done with a subscription keeps its topic', async () => {
    await using space = await Namespace.open()
    await space.topic(IDLE)
    const billing = await space.subscription()
    for (let round = 0; round < 3; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      await billing.peek()
    }
    await billing.send('a')
    expect(bodies(await billing.peek())).toEqual(['a'])
  })

  test('TMP-07 messages that arrive do not keep a subscription', async () => {
    await using space = await Namespace.open()
    const idle = await space.subscription(IDLE, 'idle')
    const other = await space.subscription({}, 'other')
    for (let round = 0; round < 2; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      await other.send('a')
    }
    expect(await codeOf(idle.peek())).toBe('MessagingEntityNotFound')
    expect(bodies(await other.peek())).toEqual(['a', 'a'])
  })

  test('TMP-07 a new rule keeps a subscription', async () => {
    await using space = await Namespace.open()
    const billing = await space.subscription(IDLE)
    for (let round = 0; round < 3; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      await billing.rules.createRule(`rule-${round}`, { sqlExpression: '1 = 1' })
    }
    expect(await billing.peek()).toEqual([])
  })

  test('TMP-08 an entity that forwards is never idle', async () => {
    await using space = await Namespace.open()
    const target = await space.queue({}, 'target')
    const source = await space.queue({ ...IDLE, forwardTo: 'target' })
    space.clock.jump(10 * MINUTE_MS)
    await source.send('a')
    expect(bodies(await target.receive(1))).toEqual(['a'])
  })

  test('TMP-09 a change of a property restarts the period', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    for (let round = 0; round < 3; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      await space.broker.updateQueue(queue.name, { userMetadata: `round ${round}` })
    }
    await queue.send('a')
  })

  test('TMP-10 a call that fails restarts the period', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    for (let round = 0; round < 3; round += 1) {
      space.clock.jump(2 * MINUTE_MS)
      const call = queue.receiver.receiveDeferredMessages(Long.fromNumber(77))
      expect(await codeOf(call)).toBe('MessageNotFound')
    }
    await queue.send('a')
  })

  test('TMP-12 the removal takes everything along', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue(IDLE)
    await queue.send('a', 'b')
    await queue.receiver.deadLetterMessage(await queue.receiveOne())
    await queue.receiver.close()
    space.clock.jump(4 * MINUTE_MS)
    expect(await codeOf(space.entity('orders').send('c'))).toBe('MessagingEntityNotFound')
    const again = await space.queue()
    expect(await again.places()).toEqual({ here: [], dead: [] })
  })

  test('TMP-12 open receivers learn that their subscription went with its topic', async () => {
    await using space = await Namespace.open()
    const billing = await space.subscription()
    await billing.receiveNow()
    const waiting = codeOf(billing.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 }))
    await space.broker.deleteTopic('events')
    expect(await waiting).toBe('MessagingEntityNotFound')
  })
})
