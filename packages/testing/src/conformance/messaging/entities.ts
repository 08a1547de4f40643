import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type OpenNamespace } from './fixtures.ts'
import { bodies } from './tested-entity.ts'

const NAME = { topic: 't', subscription: 's' }

/** Entities as they are created, read, changed and measured. */
export function messagingEntities(open: OpenNamespace): void {
  describe('entities', () => {
    test('what was given is read again, with every default', async () => {
      const space = await open()
      const { broker } = space
      const made = await broker.createQueue('q', { lockDuration: 'PT30S', userMetadata: 'mine' })
      expect(made).toEqual(await broker.getQueue('q'))
      expect(made).toMatchObject({
        name: 'q',
        lockDuration: 'PT30S',
        userMetadata: 'mine',
        maxDeliveryCount: 10,
        deadLetteringOnMessageExpiration: false,
        requiresSession: false,
        requiresDuplicateDetection: false,
        status: 'Active',
      })
      await broker.createTopic('t')
      await broker.createSubscription(NAME, { maxDeliveryCount: 3 })
      expect(await broker.getSubscription(NAME)).toMatchObject({
        topicName: 't',
        subscriptionName: 's',
        maxDeliveryCount: 3,
      })
      expect((await broker.listQueues()).map(({ name }) => name)).toEqual(['q'])
      expect((await broker.listTopics()).map(({ name }) => name)).toEqual(['t'])
      const subscriptions = await broker.listSubscriptions('t')
      expect(subscriptions.map(({ subscriptionName }) => subscriptionName)).toEqual(['s'])
    })

    test('an update changes what it names, for later calls of every broker', async () => {
      const space = await open()
      const queue = await space.queue('q', { lockDuration: 5000, userMetadata: 'mine' })
      const elsewhere = queue.through(await space.brokerElsewhere())
      await elsewhere.send('a')
      await space.broker.updateQueue('q', { lockDuration: 3000 })
      const { lockDuration, userMetadata } = await space.broker.getQueue('q')
      expect([lockDuration, userMetadata]).toEqual(['PT3S', 'mine'])
      const message = await elsewhere.receiveOne()
      expect(message.lockedUntilUtc?.getTime()).toBe(space.startMs + 3000)
    })

    test('a configuration with a mistake creates nothing', async () => {
      const space = await open()
      const config = (lockDuration: string) => ({
        UserConfig: {
          Namespaces: [
            {
              Name: 'shop',
              Queues: [
                { Name: 'a', Properties: { MaxDeliveryCount: 3 } },
                { Name: 'b', Properties: { LockDuration: lockDuration } },
              ],
              Topics: [{ Name: 't', Properties: {}, Subscriptions: [{ Name: 's' }] }],
            },
          ],
        },
      })
      const refused = space.broker.applyConfig(config('PT1Y'))
      await expect(refused).rejects.toThrow('LockDuration')
      expect(await space.broker.listQueues()).toEqual([])
      expect(await space.broker.listTopics()).toEqual([])
      for (let turn = 0; turn < 2; turn++) await space.broker.applyConfig(config('PT30S'))
      expect(await space.broker.getQueue('a')).toMatchObject({ maxDeliveryCount: 3 })
      expect(await space.broker.getQueue('b')).toMatchObject({ lockDuration: 'PT30S' })
      await space.entity('t').send('x')
      expect(bodies(await space.entity(NAME).peek())).toEqual(['x'])
    })

    test('one of two creations of a name wins', async () => {
      const space = await open()
      const elsewhere = await space.brokerElsewhere()
      const outcomes = await Promise.all(
        [space.broker, elsewhere].map((broker) => rejection(broker.createQueue('q'))),
      )
      expect(outcomes.toSorted()).toEqual(['ERR_MESSAGING_ENTITY_EXISTS', 'none'])
    })

    test.each(BOTH)('a %s counts its messages by state', async (kind) => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('deferred', 'locked', 'dead', 'active', { body: 'old', timeToLive: 900 })
      const [deferred, , dead] = await entity.receive(3)
      await entity.receiver.deferMessage(deferred ?? {})
      await entity.receiver.deadLetterMessage(dead ?? {})
      await entity.detach()
      if (kind === 'queue') {
        await entity.sender.scheduleMessages({ body: 'later' }, new Date(space.startMs + 90_000))
      }
      await space.at(1600)
      const { name } = entity
      const properties =
        typeof name === 'string'
          ? await space.broker.getQueueRuntimeProperties(name)
          : await space.broker.getSubscriptionRuntimeProperties(name)
      const scheduled = kind === 'queue' ? 1 : 0
      expect(properties).toMatchObject({
        activeMessageCount: 3,
        lockedMessageCount: 1,
        deferredMessageCount: 1,
        scheduledMessageCount: scheduled,
        deadLetterMessageCount: 1,
        expiredMessageCount: 1,
        totalMessageCount: 5 + scheduled,
        oldestEnqueuedTimeUtc: new Date(space.startMs),
      })
      expect(properties.sizeInBytes).toBeGreaterThan(0)
      expect(properties.accessedAtUtc.getTime()).toBeGreaterThanOrEqual(space.startMs)
    })
  })
}
