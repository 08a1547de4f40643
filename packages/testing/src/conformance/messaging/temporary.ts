import { describe, expect, test } from 'vitest'
import { DAY_MS, rejection, type CaseParts, type TestedNamespace } from './fixtures.ts'
import { bodies, type TestedEntity } from './tested-entity.ts'

/** The idle period. */
const P = 90_000
const TEMPORARY = { autoDeleteOnIdle: P }
const GONE = 'ERR_MESSAGING_ENTITY_NOT_FOUND'

/** Does something every third of the period, until 1.5 periods have passed. */
async function keepBusy(space: TestedNamespace, act: (turn: number) => Promise<unknown>) {
  space.start()
  for (let turn = 1; turn < 5; turn++) {
    await space.at((turn * P) / 3)
    await act(turn)
  }
  await space.at(1.5 * P)
}

/** Entities that are removed when nobody uses them. */
export function messagingTemporary({ open, isByClient }: CaseParts): void {
  const queueExists = (space: TestedNamespace, name = 'q') =>
    rejection(space.broker.getQueue(name)).then((code) => code === 'none')
  const topicExists = (space: TestedNamespace) =>
    rejection(space.broker.getTopic('t')).then((code) => code === 'none')
  const subscriptionExists = (space: TestedNamespace, subscription = 's') =>
    rejection(space.broker.getSubscription({ topic: 't', subscription })).then(
      (code) => code === 'none',
    )

  describe('temporary entities', () => {
    test('TMP-01 a queue goes after its period, and not before', async () => {
      const space = await open()
      const queue = await space.queue('q', TEMPORARY)
      await space.queue('used', TEMPORARY)
      await queue.send('a')
      await space.at(P - 1)
      expect(await queueExists(space, 'used')).toBe(true)
      await space.at(P)
      expect(await rejection(queue.send('b'))).toBe(GONE)
      expect(await queueExists(space)).toBe(false)
      await space.at(3 * P)
      expect(await space.broker.listQueues()).toEqual([])
    })

    test('TMP-01 so do a topic and a subscription', async () => {
      const space = await open()
      await space.topic('t', TEMPORARY)
      await space.topic('stays')
      await space.subscription('stays', 's', TEMPORARY)
      await space.at(P + 1)
      expect(await topicExists(space)).toBe(false)
      expect(await space.broker.listSubscriptions('stays')).toEqual([])
      expect((await space.broker.getTopic('stays')).name).toBe('stays')
    })

    test('TMP-02 the minimum is five minutes', async () => {
      const space = await open({ limits: {} })
      const short = { autoDeleteOnIdle: 'PT4M59S' }
      expect(await rejection(space.broker.createQueue('q', short))).toBe('ERR_INVALID_OPTION')
      expect(await rejection(space.broker.createTopic('t', short))).toBe('ERR_INVALID_OPTION')
      expect(await space.broker.listQueues()).toEqual([])
      await space.broker.createQueue('q', { autoDeleteOnIdle: 'PT5M' })
      const changed = space.broker.updateQueue('q', short)
      expect(await rejection(changed)).toBe('ERR_INVALID_OPTION')
      expect((await space.broker.getQueue('q')).autoDeleteOnIdle).toBe('PT5M')
      // Unless a configuration lowers it.
      const queues = [{ Name: 'c', Properties: { AutoDeleteOnIdle: 'PT1M' } }]
      const config = (limits: object) => ({
        UserConfig: { Limits: limits, Namespaces: [{ Name: 'shop', Queues: queues }] },
      })
      await expect(space.broker.applyConfig(config({}))).rejects.toThrow('AutoDeleteOnIdle')
      await space.broker.applyConfig(config({ MinAutoDeleteOnIdle: 'PT1M' }))
      expect((await space.broker.getQueue('c')).autoDeleteOnIdle).toBe('PT1M')
    })

    test('TMP-03 a namespace that refuses deletions still removes what is idle', async () => {
      const space = await open({ resourceLock: 'CanNotDelete' })
      await space.queue('q', TEMPORARY)
      expect(await rejection(space.broker.deleteQueue('q'))).toBe('ERR_MESSAGING_NOT_ALLOWED')
      expect(await queueExists(space)).toBe(true)
      await space.at(P + 1)
      expect(await queueExists(space)).toBe(false)
    })

    test('TMP-04 without a period an entity stays for ever', async () => {
      const space = await open()
      const queue = await space.queue('q')
      await space.topic('t')
      const copy = await space.subscription('t', 's')
      await copy.send('a')
      // A client's connection is looked after every minute that passes.
      await space.pass(isByClient ? 100 * P : 1000 * DAY_MS)
      expect(await queueExists(space)).toBe(true)
      expect(bodies(await copy.peek())).toEqual(['a'])
      expect(await queue.peek()).toEqual([])
    })

    test('TMP-12 removal takes messages, dead letters, rules, sessions and subscriptions along', async () => {
      const space = await open()
      await space.topic('t', TEMPORARY)
      const copy = await space.subscription('t', 's', { requiresSession: true })
      await space.broker.createRule(
        { topic: 't', subscription: 's' },
        { name: 'more', filter: { sqlExpression: '1 = 0' } },
      )
      const a = await copy.accept('A')
      await a.setSessionState(new Uint8Array([1]))
      await copy.send({ body: 'dead', sessionId: 'A' })
      const [message] = await a.receiveMessages(1, { maxWaitTimeInMs: 0 })
      if (message === undefined) throw new Error('one was sent')
      await a.deadLetterMessage(message)
      await copy.send({ body: 'a', sessionId: 'A' })
      await a.close()
      space.start()
      await space.at(P + 1)
      expect(await rejection(copy.peek())).toBe(GONE)
      expect(await rejection(copy.dead())).toBe(GONE)

      await space.topic('t')
      expect(await space.broker.listSubscriptions('t')).toEqual([])
      const again = await space.subscription('t', 's', { requiresSession: true })
      expect(await again.places()).toEqual({ here: [], dead: [] })
      const rules = await space.broker.listRules({ topic: 't', subscription: 's' })
      expect(rules.map(({ name }) => name)).toEqual(['$Default'])
      expect(await (await again.accept('A')).getSessionState()).toBeUndefined()
      await again.send({ body: 'first', sessionId: 'A' })
      expect((await again.peekOne()).sequenceNumber).toBe(1)
    })

    test('TMP-12 deletion by call does the same, and ends waiting receivers', async () => {
      const space = await open()
      const queue = await space.queue('q')
      await queue.send('a')
      await queue.receiveOne()
      const waiting = rejection(queue.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 }))
      await space.settled()
      await space.broker.deleteQueue('q')
      expect(await waiting).toBe(GONE)
      expect(await rejection(queue.peek())).toBe(GONE)
      const again = await space.queue('q')
      expect(await again.places()).toEqual({ here: [], dead: [] })
    })

    test('TMP-12 who waits at a subscription learns that its topic was deleted', async () => {
      const space = await open()
      const copy = await space.receiving('subscription')
      const waiting = rejection(copy.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 }))
      await space.settled()
      await space.broker.deleteTopic('t')
      expect(await waiting).toBe(GONE)
    })
  })

  describe('what keeps a queue', () => {
    const activities: Readonly<
      Record<
        string,
        (space: TestedNamespace, queue: TestedEntity, turn: number) => Promise<unknown>
      >
    > = {
      'a send': (_, queue) => queue.send('a'),
      'a receive that finds nothing': (_, queue) => queue.drain(),
      'an update': ({ broker }, _, turn) => broker.updateQueue('q', { userMetadata: `${turn}` }),
      'a peek': (_, queue) => queue.peek(),
      'a change of the status': ({ broker }, _, turn) =>
        broker.updateQueue('q', { status: turn % 2 === 0 ? 'Active' : 'Disabled' }),
      'a call that fails': (_, queue) =>
        rejection(queue.sender.cancelScheduledMessages(99)).then((code) =>
          expect(code).toBe('ERR_MESSAGE_NOT_FOUND'),
        ),
      // The official client sends no such message.
      ...(!isByClient && {
        'a send that is too large': (_, queue) =>
          rejection(queue.sender.sendMessages({ body: 'x'.repeat(2 ** 21) })).then((code) =>
            expect(code).toBe('ERR_MESSAGE_SIZE_EXCEEDED'),
          ),
      }),
    }
    test.each(Object.entries(activities))(
      'TMP-05 TMP-09 TMP-10 %s restarts the period',
      async (_, act) => {
        const space = await open()
        const queue = await space.queue('q', TEMPORARY)
        await keepBusy(space, (turn) => act(space, queue, turn))
        expect(await queueExists(space)).toBe(true)
        await space.pass(P)
        expect(await queueExists(space)).toBe(false)
      },
    )

    test('TMP-05 TMP-10 a receive with a short wait restarts the period', async () => {
      const space = await open()
      const queue = await space.queue('q', TEMPORARY)
      await keepBusy(space, async () => {
        await using receiver = queue.attach()
        const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 100 })
        expect(await space.during(waiting, 100)).toEqual([])
      })
      expect(await queueExists(space)).toBe(true)
    })

    test('TMP-05 a receive that waits on the empty queue holds the period', async () => {
      const space = await open()
      const queue = await space.queue('q', TEMPORARY)
      const waiting = queue.receiver.receiveMessages(1, { maxWaitTimeInMs: 3 * P })
      await space.at(2.5 * P)
      expect(await queueExists(space)).toBe(true)
      await queue.send('a')
      expect(bodies(await waiting)).toEqual(['a'])
    })

    test('TMP-05 a scheduled message holds it until it is enqueued', async () => {
      const space = await open()
      const queue = await space.queue('q', TEMPORARY)
      await queue.sender.scheduleMessages({ body: 'a' }, new Date(space.startMs + 2 * P))
      await space.at(2 * P + P / 2)
      expect(await queueExists(space)).toBe(true)
      await space.at(3 * P + P / 2)
      expect(await queueExists(space)).toBe(false)
    })

    test('TMP-05 a scheduled message holds it until it is cancelled', async () => {
      const space = await open()
      const queue = await space.queue('q', TEMPORARY)
      const at = new Date(space.startMs + 10 * P)
      const numbers = await queue.sender.scheduleMessages({ body: 'a' }, at)
      await space.at(2 * P)
      await queue.sender.cancelScheduledMessages(numbers)
      await space.at(3.2 * P)
      expect(await queueExists(space)).toBe(false)
    })

    test('TMP-08 a queue that forwards, and its destination, are never idle', async () => {
      const space = await open()
      const target = await space.queue('target', TEMPORARY)
      const source = await space.queue('source', { ...TEMPORARY, forwardTo: 'target' })
      await space.at(1.4 * P)
      expect(await queueExists(space, 'source')).toBe(true)
      expect(await queueExists(space, 'target')).toBe(true)
      await source.send('a')
      expect(bodies(await target.receive())).toEqual(['a'])
    })
  })

  describe('what keeps a topic', () => {
    const activities: Readonly<
      Record<string, (space: TestedNamespace, copy: TestedEntity, turn: number) => Promise<unknown>>
    > = {
      'a send': (_, copy) => copy.send('a'),
      'an update': ({ broker }, _, turn) => broker.updateTopic('t', { userMetadata: `${turn}` }),
      'a peek of a subscription': (_, copy) => copy.peek(),
      'a receive from a subscription': (_, copy) => copy.drain(),
      'a new subscription': ({ broker }, _, turn) =>
        broker.createSubscription({ topic: 't', subscription: `s${turn}` }),
    }
    test.each(Object.entries(activities))('TMP-06 %s restarts the period', async (_, act) => {
      const space = await open()
      await space.topic('t', TEMPORARY)
      const copy = await space.subscription('t', 's')
      await keepBusy(space, (turn) => act(space, copy, turn))
      expect(await topicExists(space)).toBe(true)
      await space.pass(P)
      expect(await topicExists(space)).toBe(false)
    })

    test('TMP-06 a scheduled message holds it', async () => {
      const space = await open()
      const topic = await space.topic('t', TEMPORARY)
      await topic.sender.scheduleMessages({ body: 'a' }, new Date(space.startMs + 2 * P))
      await space.at(2 * P + P / 2)
      expect(await topicExists(space)).toBe(true)
      await space.at(3 * P + P / 2)
      expect(await topicExists(space)).toBe(false)
    })
  })

  describe('what keeps a subscription', () => {
    const name = { topic: 't', subscription: 's' }
    const activities: Readonly<
      Record<string, (space: TestedNamespace, copy: TestedEntity, turn: number) => Promise<unknown>>
    > = {
      'a receive': (_, copy) => copy.drain(),
      'a peek': (_, copy) => copy.peek(),
      'an update': ({ broker }, _, turn) =>
        broker.updateSubscription(name, { userMetadata: `${turn}` }),
      'a new rule': (_, copy, turn) => copy.createRule({ name: `rule${turn}` }),
    }
    test.each(Object.entries(activities))(
      'TMP-07 TMP-09 %s restarts the period',
      async (_, act) => {
        const space = await open()
        await space.topic('t')
        const copy = await space.subscription('t', 's', TEMPORARY)
        await keepBusy(space, (turn) => act(space, copy, turn))
        expect(await subscriptionExists(space)).toBe(true)
        await space.pass(P)
        expect(await subscriptionExists(space)).toBe(false)
      },
    )

    test('TMP-07 messages that arrive from the topic do not', async () => {
      const space = await open()
      const topic = await space.topic('t', TEMPORARY)
      await space.subscription('t', 's', TEMPORARY)
      await space.subscription('t', 'sibling')
      await keepBusy(space, () => topic.send('a'))
      expect(await subscriptionExists(space)).toBe(false)
      expect(await subscriptionExists(space, 'sibling')).toBe(true)
      expect(await topicExists(space)).toBe(true)
    })

    test('TMP-08 a subscription that forwards is never idle', async () => {
      const space = await open()
      const target = await space.queue('target')
      await space.topic('t')
      const copy = await space.subscription('t', 's', { ...TEMPORARY, forwardTo: 'target' })
      await space.at(1.4 * P)
      expect(await subscriptionExists(space)).toBe(true)
      await copy.send('a')
      expect(bodies(await target.receive())).toEqual(['a'])
    })
  })
}
