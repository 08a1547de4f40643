import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type CaseParts } from './fixtures.ts'
import { bodies, receiveNow } from './tested-entity.ts'

const NOT_FOUND = 'ERR_MESSAGING_ENTITY_NOT_FOUND'

/** What is refused, and that nothing is lost by it. */
export function messagingRefusals({ open, isByClient }: CaseParts): void {
  describe.each(BOTH)('refusals of a %s', (kind) => {
    test('SET-06 a message is settled once', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a', 'b')
      const [a, b] = await entity.receive()
      if (a === undefined || b === undefined) throw new Error('two were sent')
      const { receiver } = entity
      await receiver.completeMessage(a)
      await receiver.deferMessage(b)
      for (const message of [a, b]) {
        const calls = [
          () => receiver.completeMessage(message),
          () => receiver.abandonMessage(message),
          () => receiver.deferMessage(message),
          () => receiver.deadLetterMessage(message),
          () => receiver.renewMessageLock(message),
        ]
        for (const call of calls) expect(await rejection(call())).toBe('ERR_MESSAGE_LOCK_LOST')
      }
      expect(await entity.places()).toEqual({ here: ['b'], dead: [] })
      expect((await entity.peekOne()).state).toBe('deferred')
    })

    // The official client settles only what it has received.
    test.skipIf(isByClient)('SET-06 a foreign or unknown token settles nothing', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const other = await space.queue('other')
      await entity.send('a')
      await other.send('b')
      const message = await entity.receiveOne()
      await other.receiveOne()
      const stale = {
        lockToken: message.lockToken?.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      }
      const unknown = { lockToken: '00000000-0000-4000-8000-000000000000' }
      for (const token of [stale, unknown]) {
        expect(await rejection(entity.receiver.completeMessage(token))).toBe(
          'ERR_MESSAGE_LOCK_LOST',
        )
      }
      expect(await rejection(other.receiver.completeMessage(message))).toBe('ERR_MESSAGE_LOCK_LOST')
      await entity.receiver.completeMessage(message)
      expect(bodies(await other.peek())).toEqual(['b'])
    })

    test.skipIf(isByClient)('SET-06 what is no token, or has none, is refused', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      await entity.send('a')
      const peeked = await entity.peekOne()
      await entity.receiveOne()
      for (const message of [peeked, { lockToken: 'no token' }]) {
        expect(await rejection(entity.receiver.completeMessage(message))).not.toBe('none')
      }
      expect(bodies(await entity.peek())).toEqual(['a'])
    })

    test('SET-20 a message that is too large is refused, and with it all of its call', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { maxMessageSizeInKilobytes: 1 })
      if (typeof entity.name !== 'string') {
        await space.broker.updateTopic('t', { maxMessageSizeInKilobytes: 1 })
      }
      const large = { body: new Uint8Array(1025) }
      expect(await rejection(entity.send('a', large))).toBe('ERR_MESSAGE_SIZE_EXCEEDED')
      expect(await entity.peek()).toEqual([])
      await entity.send({ body: new Uint8Array(512) })
      expect((await entity.peekOne()).sequenceNumber).toBe(1)
    })

    // The official client settles nothing again after a refusal.
    test.skipIf(isByClient)(
      'SET-20 a settlement that makes a message too large is refused',
      async () => {
        const space = await open()
        const entity = await space.receiving(kind, { maxMessageSizeInKilobytes: 1 })
        await entity.send('a')
        const before = await entity.sizeInBytes()
        const message = await entity.receiveOne()
        const large = { p: 'x'.repeat(1024) }
        const { receiver } = entity
        for (const call of [
          receiver.abandonMessage(message, large),
          receiver.deferMessage(message, large),
          receiver.deadLetterMessage(message, { propertiesToModify: large }),
        ]) {
          expect(await rejection(call)).toBe('ERR_MESSAGE_SIZE_EXCEEDED')
        }
        await receiver.abandonMessage(message, { p: 'x'.repeat(500) })
        expect(await entity.sizeInBytes()).toBeGreaterThan(before + 500)
        const again = await entity.receiveOne()
        expect(again).toMatchObject({
          deliveryCount: 1,
          applicationProperties: { p: 'x'.repeat(500) },
        })
        expect(await rejection(receiver.abandonMessage(again, { q: large.p }))).toBe(
          'ERR_MESSAGE_SIZE_EXCEEDED',
        )
        await receiver.deadLetterMessage(again, { deadLetterReason: 'r'.repeat(2000) })
        expect(await entity.sizeInBytes()).toBeGreaterThan(before + 2500)
        await entity.drainDead()
        expect(await entity.sizeInBytes()).toBe(0)
      },
    )

    test('SET-15 a receiver that was closed refuses, and the message is there', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { lockDuration: 2000 })
      await entity.send('a')
      const receiver = entity.attach()
      const [message] = await receiveNow(receiver)
      if (message === undefined) throw new Error('one was sent')
      await receiver.close()
      expect(receiver.isClosed).toBe(true)
      expect(await rejection(receiveNow(receiver))).toBe('ERR_LINK_CLOSED')
      expect(await rejection(receiver.completeMessage(message))).toBe('ERR_LINK_CLOSED')
      expect(await rejection(receiver.peekMessages(1))).toBe('ERR_LINK_CLOSED')
      await space.at(2000)
      expect((await entity.receiveOne()).deliveryCount).toBe(1)
    })

    // The official client waits on, and by the machine's clock.
    test.skipIf(isByClient)('SET-15 closing a receiver ends its waiting receive', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const receiver = entity.attach()
      const waiting = receiver
        .receiveMessages(1, { maxWaitTimeInMs: 60_000 })
        .catch((error: unknown) => (error instanceof Error ? [] : undefined))
      await space.settled()
      await receiver.close()
      await entity.send('a')
      expect(await waiting).toEqual([])
      expect(bodies(await entity.receive())).toEqual(['a'])
    })

    test('SET-21 a receive that is aborted takes no message along', async () => {
      const space = await open()
      const entity = await space.receiving(kind)
      const abort = new AbortController()
      const reason = new Error('enough')
      const waiting = entity.receiver.receiveMessages(1, {
        maxWaitTimeInMs: 60_000,
        signal: abort.signal,
      })
      await space.settled()
      abort.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      const next = entity.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 })
      await entity.send('a')
      expect(bodies(await next)).toEqual(['a'])
    })
  })

  describe('refusals', () => {
    test('SET-15 every operation on what does not exist fails with its name', async () => {
      const space = await open()
      const { broker } = space
      await space.topic('t')
      const nowhere = space.entity('nowhere')
      const noCopy = space.entity({ topic: 't', subscription: 'none' })
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        send: () => nowhere.send('a'),
        schedule: () => nowhere.sender.scheduleMessages({ body: 'a' }, new Date(space.startMs)),
        cancel: () => nowhere.sender.cancelScheduledMessages(1),
        batch: () => nowhere.sender.createMessageBatch(),
        receive: () => nowhere.receive(),
        peek: () => nowhere.peek(),
        dead: () => nowhere.dead(),
        deferred: () => nowhere.receiver.receiveDeferredMessages(1),
        // The official client has an error of its own for these.
        ...(!isByClient && {
          accept: () => nowhere.accept('A'),
          next: () => nowhere.acceptNext(),
        }),
        get: () => broker.getQueue('nowhere'),
        update: () => broker.updateQueue('nowhere', { userMetadata: 'x' }),
        delete: () => broker.deleteQueue('nowhere'),
        measure: () => broker.getQueueRuntimeProperties('nowhere'),
        'a topic as a queue': () => broker.getQueue('t'),
        'receive from a subscription': () => noCopy.receive(),
        'peek a subscription': () => noCopy.peek(),
        'dead letters of a subscription': () => noCopy.dead(),
        rules: () => noCopy.listRules(),
        'create a rule': () => noCopy.createRule({ name: 'r' }),
        'create a subscription': () =>
          broker.createSubscription({ topic: 'none', subscription: 's' }),
      }
      const codes: [string, string][] = []
      for (const [name, call] of Object.entries(calls)) {
        codes.push([name, await rejection(call())])
        await expect(call(), name).rejects.toThrow(/entity '(?:nowhere|none|t)\b.*' could not/)
      }
      expect(codes).toEqual(Object.keys(calls).map((name) => [name, NOT_FOUND]))
    })

    test('SET-15 names are compared without regard to case', async () => {
      const space = await open()
      await space.queue('Orders')
      await space.entity('orders').send('a')
      expect(bodies(await space.entity('ORDERS').receive())).toEqual(['a'])
      expect(await rejection(space.broker.createQueue('oRDERS'))).toBe(
        'ERR_MESSAGING_ENTITY_EXISTS',
      )
      expect((await space.broker.listQueues()).map(({ name }) => name)).toEqual(['Orders'])
    })

    // A text of AMQP has no half characters.
    test.skipIf(isByClient)(
      'SET-10 SES-10 refuses ids that an engine cannot store or tell apart',
      async () => {
        const space = await open()
        const queue = await space.queue('q', { requiresDuplicateDetection: true })
        const sessions = await space.queue('s', { requiresSession: true })
        const bad = ['a\0b', '\u{1F600}'.slice(0, 1), 'b\udc00']
        for (const id of bad) {
          for (const name of ['messageId', 'partitionKey', 'replyToSessionId', 'sessionId']) {
            expect(await rejection(queue.send('a', { body: 'b', [name]: id }))).toBe(
              'ERR_INVALID_OPTION',
            )
          }
          expect(await rejection(sessions.accept(id))).toBe('ERR_INVALID_OPTION')
        }
        expect(await rejection(sessions.send({ body: 'c', sessionId: '' }))).toBe(
          'ERR_INVALID_OPTION',
        )
        expect(await rejection(sessions.accept(''))).toBe('ERR_INVALID_OPTION')
        await queue.send(
          { body: 'd', messageId: '\u{1F600}' },
          { body: 'e', messageId: '\u{1F4A9}' },
        )
        expect(bodies(await queue.peek())).toEqual(['d', 'e'])
      },
    )

    test.skipIf(isByClient)('SET-17 texts that are no ids may be any text', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const text = 'a\0b\ud83d'
      const given = { correlationId: text, subject: text, to: text, replyTo: text }
      await queue.send({ body: text, ...given, applicationProperties: { [text]: text } })
      const message = await queue.receiveOne()
      expect(message).toMatchObject({
        body: text,
        ...given,
        applicationProperties: { [text]: text },
      })
      await queue.receiver.deadLetterMessage(message, {
        deadLetterReason: text,
        deadLetterErrorDescription: text,
      })
      expect(await queue.deadOne()).toMatchObject({
        body: text,
        deadLetterReason: text,
        deadLetterErrorDescription: text,
      })
    })

    test('SET-20 a full entity refuses, and takes messages again when there is room', async () => {
      const space = await open()
      const queue = await space.queue('q', { maxSizeInMegabytes: 1 })
      const body = new Uint8Array(300_000)
      let refused = 'none'
      let sent = 0
      for (; refused === 'none' && sent < 10; sent++) {
        refused = await rejection(queue.send({ body }))
        await space.pass(1000)
      }
      expect(refused).toBe('ERR_QUOTA_EXCEEDED')
      expect(await rejection(queue.send('small', { body }))).toBe('ERR_QUOTA_EXCEEDED')
      const stored = await queue.peek()
      expect(stored.length).toBe(sent - 1)
      expect(await queue.drain()).toHaveLength(sent - 1)
      await space.pass(1000)
      await queue.send('small')
      // The refused message took no number.
      expect((await queue.peekOne()).sequenceNumber).toBe(sent)
    })

    test.each([
      ['Disabled', 'ERR_MESSAGING_ENTITY_DISABLED', 'ERR_MESSAGING_ENTITY_DISABLED'],
      ['SendDisabled', 'ERR_MESSAGING_ENTITY_DISABLED', 'none'],
      ['ReceiveDisabled', 'none', 'ERR_MESSAGING_ENTITY_DISABLED'],
    ] as const)(
      'SET-15 a queue that is %s refuses, and keeps its messages',
      async (status, send, receive) => {
        const space = await open()
        const queue = await space.queue('q')
        await queue.send('before')
        const [message] = await queue.receive()
        if (message === undefined) throw new Error('one was sent')
        await space.broker.updateQueue('q', { status })
        expect(await rejection(queue.send('meanwhile'))).toBe(send)
        expect(await rejection(queue.receive())).toBe(receive)
        expect(await rejection(receiveNow(queue.attach()))).toBe(receive)
        await queue.receiver.abandonMessage(message)
        await space.broker.updateQueue('q', { status: 'Active' })
        await queue.send('after')
        await queue.detach()
        expect(bodies(await queue.receive())).toEqual(expect.arrayContaining(['before', 'after']))
      },
    )

    test('SET-20 a batch takes messages up to the largest size', async () => {
      const space = await open()
      const queue = await space.queue('q', { maxMessageSizeInKilobytes: 64 })
      const batch = await queue.sender.createMessageBatch()
      expect(batch.maxSizeInBytes).toBe(64 * 1024)
      let added = 0
      while (batch.tryAddMessage({ body: new Uint8Array(10_000) })) added++
      expect(added).toBeGreaterThan(2)
      expect(added).toBeLessThan(7)
      expect([batch.count, batch.sizeInBytes <= batch.maxSizeInBytes]).toEqual([added, true])
      await queue.sender.sendMessages(batch)
      expect(await queue.peek()).toHaveLength(added)
    })

    test('SES-14 nobody sends to a dead-letter queue or subscription, and receives from a topic', async () => {
      const space = await open()
      const { broker } = space
      await space.queue('q')
      await space.topic('t')
      await space.subscription('t', 's')
      const path = 'q/$DeadLetterQueue'
      expect(await rejection(space.entity(path).send('a'))).not.toBe('none')
      expect(await rejection(space.entity('t/Subscriptions/s').send('a'))).not.toBe('none')
      expect(await rejection(space.entity('t').receive())).not.toBe('none')
      expect(await rejection(broker.createQueue('x/$DeadLetterQueue'))).not.toBe('none')
      expect(await rejection(broker.deleteQueue(path))).not.toBe('none')
      expect((await broker.listQueues()).map(({ name }) => name)).toEqual(['q'])
    })
  })
}
