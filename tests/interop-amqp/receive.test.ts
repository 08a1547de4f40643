import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus'
import Long from 'long'
import { describe, expect, test } from 'vitest'
import {
  bodies,
  numberOf,
  receive,
  receiveNow,
  receiveOne,
  sortedBodies,
  fieldsOf,
} from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const BOTH = ['queue', 'subscription'] as const
const names = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `m${String(index).padStart(3, '0')}`)

/** What handlers of a subscribe saw; `done` resolves when there were so many. */
function watching(count: number): {
  readonly seen: ServiceBusReceivedMessage[]
  readonly errors: unknown[]
  readonly done: Promise<void>
  readonly note: (message: ServiceBusReceivedMessage) => void
  readonly noteError: (args: { readonly error: unknown }) => Promise<void>
} {
  const seen: ServiceBusReceivedMessage[] = []
  const errors: unknown[] = []
  const { promise: done, resolve } = Promise.withResolvers<void>()
  return {
    seen,
    errors,
    done,
    note: (message) => {
      if (seen.push(message) >= count) resolve()
    },
    noteError: async ({ error }) => {
      errors.push(error)
    },
  }
}

describe('Receiving', () => {
  test.each(BOTH)('SET-08 receive and delete removes at the delivery (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send('a', 'b')
    const receiver = entity.open({ receiveMode: 'receiveAndDelete' })
    const [message] = await receive(receiver, 1)
    expect(message).toMatchObject({ body: 'a', deliveryCount: 0 })
    expect(message?.lockToken).toBeUndefined()
    expect(message?.lockedUntilUtc).toBeUndefined()
    expect(await entity.places()).toEqual({ here: ['b'], dead: [] })
  })

  test('SET-08 receive and delete takes as many as were asked for', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...names(50))
    const receiver = queue.open({ receiveMode: 'receiveAndDelete' })
    expect(bodies(await receive(receiver, 20))).toEqual(names(20))
    expect(bodies(await queue.peek())).toEqual(names(50).slice(20))
  })

  test('SET-21 a receive without a wait returns what is there', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect(await queue.receiveNow()).toEqual([])
    await queue.send('a', 'b', 'c')
    expect(bodies(await queue.receiveNow())).toEqual(['a', 'b', 'c'])
    expect(await queue.receiveNow()).toEqual([])
  })

  test('SET-21 a receive without a wait returns no more than was asked for', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b', 'c')
    expect(bodies(await receiveNow(queue.receiver, 2))).toEqual(['a', 'b'])
    expect(bodies(await receiveNow(queue.receiver, 2))).toEqual(['c'])
  })

  test('SET-21 after an empty receive the receiver has no credit left over', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect(await queue.receiveNow()).toEqual([])
    await queue.send('a')
    const other = queue.through(space.connect())
    expect(bodies(await other.receive(1))).toEqual(['a'])
  })

  test('SET-21 an empty receive does not take longer than its wait', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.receiveNow()
    const messages = await queue.receiver.receiveMessages(10, { maxWaitTimeInMs: 300 })
    expect(messages).toEqual([])
  })

  test('SET-01 a receive that waits gets what is sent meanwhile', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const waiting = queue.receive(1)
    await queue.send('a')
    expect(bodies(await waiting)).toEqual(['a'])
  })

  test('SET-01 a receive of many returns what came, a second after the first', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const waiting = queue.receiver.receiveMessages(10, { maxWaitTimeInMs: 30_000 })
    await queue.send('a', 'b')
    expect(bodies(await waiting)).toEqual(['a', 'b'])
  })

  test('SET-01 a thousand messages come in their order, without one that is lost', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...names(1000))
    const messages = await queue.receive(1000)
    expect(bodies(messages)).toEqual(names(1000))
    await Promise.all(messages.map((message) => queue.receiver.completeMessage(message)))
    expect(await queue.peek()).toEqual([])
  })

  test('SET-01 a receive can be aborted, and what comes later is not lost', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.receiveNow()
    const abort = new AbortController()
    const waiting = queue.receiver.receiveMessages(1, {
      maxWaitTimeInMs: 30_000,
      abortSignal: abort.signal,
    })
    abort.abort()
    await expect(waiting).rejects.toThrow(/abort/i)
    await queue.send('a')
    const message = await queue.receiveOne()
    expect(message.body).toBe('a')
  })

  test('SET-01 the iterator gives one message after the other', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b', 'c')
    const seen: unknown[] = []
    for await (const message of queue.receiver.getMessageIterator()) {
      seen.push(message.body)
      await queue.receiver.completeMessage(message)
      if (seen.length === 3) break
    }
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(await queue.peek()).toEqual([])
  })

  test('SET-19 competing receivers of several clients get each message once', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...names(200))
    const seen: ServiceBusReceivedMessage[] = []
    const consume = async (receiver: ServiceBusReceiver): Promise<void> => {
      for (;;) {
        const messages = await receiver.receiveMessages(7, { maxWaitTimeInMs: 500 })
        if (messages.length === 0 && seen.length >= 200) return
        for (const message of messages) {
          seen.push(message)
          await receiver.completeMessage(message)
        }
      }
    }
    const receivers = Array.from({ length: 5 }, () => queue.through(space.connect()).receiver)
    await Promise.all(receivers.map(consume))
    expect(sortedBodies(seen)).toEqual(names(200))
    for (const { deliveryCount } of seen) expect(deliveryCount).toBe(0)
    expect(await queue.peek()).toEqual([])
  })

  test('SET-15 receiving from what does not exist is refused by name', async () => {
    await using space = await Namespace.open()
    await space.topic()
    for (const entity of [space.entity('nowhere'), space.entity('events', 'nobody')]) {
      const { code, message } = await refusal(entity.receiveOne())
      expect(code).toBe('MessagingEntityNotFound')
      expect(message).toContain(entity.subscription ?? entity.name)
    }
  })

  test('SET-15 nobody can receive from a topic', async () => {
    await using space = await Namespace.open()
    const topic = await space.topic()
    expect(await codeOf(topic.receiveOne())).not.toBe('ServiceTimeout')
  })

  test.each(['Disabled', 'ReceiveDisabled'] as const)(
    'SET-15 a queue that is %s refuses receivers',
    async (status) => {
      await using space = await Namespace.open()
      const queue = await space.queue({ status })
      expect(await codeOf(queue.receiveOne())).toBe('MessagingEntityDisabled')
    },
  )

  test('SET-15 a receiver that waits learns that its queue was deleted', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.receiveNow()
    const waiting = codeOf(queue.receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 }))
    await space.broker.deleteQueue(queue.name)
    expect(await waiting).toBe('MessagingEntityNotFound')
  })
})

describe('Subscribing with handlers', () => {
  test.each(BOTH)(
    'SET-01 a handler gets every message, which is then completed (%s)',
    async (kind) => {
      await using space = await Namespace.open()
      const entity = await space.receiving(kind)
      await entity.send(...names(30))
      const { seen, errors, done, note, noteError } = watching(30)
      const subscription = entity.receiver.subscribe({
        processMessage: async (message) => note(message),
        processError: noteError,
      })
      await done
      await entity.settlesAt({ here: [], dead: [] })
      await subscription.close()
      expect(bodies(seen)).toEqual(names(30))
      expect(errors).toEqual([])
    },
  )

  test('SET-19 no more calls run at once than the client asked for, and that many do', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...names(12))
    const { done, note, noteError } = watching(12)
    let running = 0
    let most = 0
    const full = Promise.withResolvers<void>()
    const subscription = queue.receiver.subscribe(
      {
        processMessage: async (message) => {
          running += 1
          most = Math.max(most, running)
          if (running === 4) full.resolve()
          await full.promise
          running -= 1
          note(message)
        },
        processError: noteError,
      },
      { maxConcurrentCalls: 4 },
    )
    await done
    await subscription.close()
    expect(most).toBe(4)
    await queue.settlesAt({ here: [], dead: [] })
  })

  test('SET-02 a handler that throws abandons its message, which comes again', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const { seen, errors, done, note, noteError } = watching(2)
    const subscription = queue.receiver.subscribe({
      processMessage: async (message) => {
        note(message)
        if (message.deliveryCount === 0) throw new Error('not the first time')
      },
      processError: noteError,
    })
    await done
    await queue.settlesAt({ here: [], dead: [] })
    await subscription.close()
    expect(seen.map(({ deliveryCount }) => deliveryCount)).toEqual([0, 1])
    expect(errors).toHaveLength(1)
  })

  test('SET-01 without automatic completion the handler settles', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b', 'c')
    const { done, note, noteError } = watching(3)
    const { receiver } = queue
    const subscription = receiver.subscribe(
      {
        processMessage: async (message) => {
          if (message.body === 'a') await receiver.completeMessage(message)
          if (message.body === 'b') await receiver.deadLetterMessage(message)
          note(message)
        },
        processError: noteError,
      },
      { autoCompleteMessages: false },
    )
    await done
    await subscription.close()
    expect(await queue.places()).toEqual({ here: ['c'], dead: ['b'] })
  })

  test('SET-16 messages that a closed subscription left are locked until their time', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const { done, note, noteError } = watching(1)
    const receiver = queue.open({ maxAutoLockRenewalDurationInMs: 0 })
    const subscription = receiver.subscribe(
      { processMessage: async (message) => note(message), processError: noteError },
      { autoCompleteMessages: false },
    )
    await done
    await subscription.close()
    await receiver.close()
    expect(await queue.receiveNow()).toEqual([])
    space.clock.jump(61_000)
    expect(bodies(await queue.receive(1))).toEqual(['a'])
  })

  test('SET-07 the lock is renewed while a handler works', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 3000 })
    await queue.send('a')
    const { seen, errors, done, note, noteError } = watching(1)
    const subscription = queue.receiver.subscribe({
      processMessage: async (message) => {
        const first = message.lockedUntilUtc?.getTime() ?? 0
        await expect.poll(() => message.lockedUntilUtc?.getTime() ?? 0).toBeGreaterThan(first)
        note(message)
      },
      processError: noteError,
    })
    await done
    await queue.settlesAt({ here: [], dead: [] })
    await subscription.close()
    expect(seen).toHaveLength(1)
    expect(errors).toEqual([])
  })

  test('SET-08 handlers can have messages that are deleted at their delivery', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(...names(10))
    const { seen, errors, done, note, noteError } = watching(10)
    const receiver = queue.open({ receiveMode: 'receiveAndDelete' })
    const subscription = receiver.subscribe({
      processMessage: async (message) => note(message),
      processError: noteError,
    })
    await done
    await subscription.close()
    expect(bodies(seen)).toEqual(names(10))
    expect(errors).toEqual([])
    expect(await queue.peek()).toEqual([])
  })

  test('SET-15 handlers learn that an entity does not exist', async () => {
    await using space = await Namespace.open()
    const failed = Promise.withResolvers<unknown>()
    const subscription = space.entity('nowhere').receiver.subscribe({
      processMessage: async () => {},
      processError: async ({ error }) => failed.resolve(error),
    })
    expect(await failed.promise).toMatchObject({ code: 'MessagingEntityNotFound' })
    await subscription.close()
  })
})

describe('Peeking', () => {
  test.each(BOTH)('SET-09 a peek changes nothing and locks nothing (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send('a', 'b')
    const peeked = await entity.peek()
    expect(fieldsOf(peeked, 'body', 'lockToken', 'deliveryCount')).toEqual([
      ['a', undefined, 0],
      ['b', undefined, 0],
    ])
    expect(bodies(await entity.receive(2))).toEqual(['a', 'b'])
  })

  test('SET-09 a peek shows messages in every state', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('deferred', 'locked', 'waiting')
    await queue.receiver.deferMessage(await queue.receiveOne())
    await queue.receiveOne()
    await queue.sender.scheduleMessages({ body: 'scheduled' }, space.in(60_000))
    expect(fieldsOf(await queue.peek(), 'body', 'state')).toEqual([
      ['deferred', 'deferred'],
      ['locked', 'active'],
      ['waiting', 'active'],
      ['scheduled', 'scheduled'],
    ])
  })

  test('SET-09 a peek shows what has expired, and is not a listener', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ deadLetteringOnMessageExpiration: true })
    await queue.send({ body: 'a', timeToLive: 60_000 })
    space.clock.jump(120_000)
    expect(await queue.places()).toEqual({ here: ['a'], dead: [] })
  })

  test('SET-09 a peek begins at the number that is given', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b', 'c', 'd')
    const receiver = queue.open()
    const from = (number: number, max: number): Promise<ServiceBusReceivedMessage[]> =>
      receiver.peekMessages(max, { fromSequenceNumber: Long.fromNumber(number) })
    expect(bodies(await from(3, 10))).toEqual(['c', 'd'])
    expect(bodies(await from(2, 2))).toEqual(['b', 'c'])
    expect(bodies(await from(5, 10))).toEqual([])
    const above = Long.MAX_VALUE
    expect(await receiver.peekMessages(1, { fromSequenceNumber: above })).toEqual([])
  })

  test('SET-09 peeks without a number go on where the last one ended', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b', 'c')
    const receiver = queue.open()
    expect(bodies(await receiver.peekMessages(2))).toEqual(['a', 'b'])
    expect(bodies(await receiver.peekMessages(2))).toEqual(['c'])
    expect(bodies(await receiver.peekMessages(2))).toEqual([])
  })

  test('SET-09 a peek of an empty queue is empty', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect(await queue.open().peekMessages(10)).toEqual([])
  })

  test('SET-09 a peek shows lock counts of messages that came back', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    await queue.receiver.abandonMessage(await queue.receiveOne())
    expect((await queue.peekOne()).deliveryCount).toBe(1)
  })

  test('SET-15 a peek of what does not exist is refused by name', async () => {
    await using space = await Namespace.open()
    const { code, message } = await refusal(space.entity('nowhere').open().peekMessages(1))
    expect([code, message.includes('nowhere')]).toEqual(['MessagingEntityNotFound', true])
  })
})

describe('Deferring', () => {
  test.each(BOTH)('SET-05 a deferred message is received only by its number (%s)', async (kind) => {
    await using space = await Namespace.open()
    const entity = await space.receiving(kind)
    await entity.send('a', 'b')
    const message = await entity.receiveOne()
    await entity.receiver.deferMessage(message)
    expect(bodies(await entity.receiveNow())).toEqual(['b'])
    const [deferred] = await entity.receiver.receiveDeferredMessages(numberOf(message))
    expect(deferred).toMatchObject({ body: 'a', state: 'deferred' })
    expect(deferred?.lockToken).toBeDefined()
    expect(deferred?.lockToken).not.toBe(message.lockToken)
    if (deferred !== undefined) await entity.receiver.completeMessage(deferred)
    expect(bodies(await entity.peek())).toEqual(['b'])
  })

  test('SET-05 several deferred messages are received at once', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a', 'b', 'c')
    const messages = await queue.receive(3)
    for (const message of messages) await queue.receiver.deferMessage(message)
    const numbers = messages.map(numberOf)
    const deferred = await queue.receiver.receiveDeferredMessages(numbers)
    expect(sortedBodies(deferred)).toEqual(['a', 'b', 'c'])
    for (const message of deferred) await queue.receiver.completeMessage(message)
    expect(await queue.peek()).toEqual([])
  })

  test('SET-05 a deferred message can be received and deleted', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    const receiver = queue.open({ receiveMode: 'receiveAndDelete' })
    expect(bodies(await receiver.receiveDeferredMessages(numberOf(message)))).toEqual(['a'])
    expect(await queue.peek()).toEqual([])
  })

  test('SET-05 deferring can change application properties', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send({ body: 'a', applicationProperties: { n: 1 } })
    await queue.receiver.deferMessage(await queue.receiveOne(), { why: 'later' })
    expect((await queue.peekOne()).applicationProperties).toEqual({ n: 1, why: 'later' })
  })

  test('SET-05 a deferred message that is abandoned stays deferred', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    const [first] = await queue.receiver.receiveDeferredMessages(numberOf(message))
    if (first !== undefined) await queue.receiver.abandonMessage(first)
    expect(await queue.receiveNow()).toEqual([])
    const [second] = await queue.receiver.receiveDeferredMessages(numberOf(message))
    expect(second).toMatchObject({ body: 'a', state: 'deferred' })
    expect(second?.deliveryCount).toBeGreaterThan(first?.deliveryCount ?? Infinity)
  })

  test('SET-05 a deferred message can be dead-lettered', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    const [deferred] = await queue.receiver.receiveDeferredMessages(numberOf(message))
    if (deferred === undefined) throw new Error('it was not there')
    await queue.receiver.deadLetterMessage(deferred, {
      deadLetterReason: 'tired',
      deadLetterErrorDescription: 'of waiting',
    })
    const [dead] = await queue.peekDead()
    expect(dead).toMatchObject({ body: 'a', deadLetterReason: 'tired', state: 'active' })
    expect(await queue.peek()).toEqual([])
  })

  test('SET-05 unknown and locked numbers are not found', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await queue.receiveOne()
    const { receiver } = queue
    await receiver.deferMessage(message)
    await receiver.receiveDeferredMessages(numberOf(message))
    for (const number of [numberOf(message), Long.fromNumber(77)]) {
      expect(await codeOf(receiver.receiveDeferredMessages(number))).toBe('MessageNotFound')
    }
  })

  test('SET-05 a message that is not deferred is not found by its number', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const number = numberOf(await queue.peekOne())
    expect(await codeOf(queue.receiver.receiveDeferredMessages(number))).toBe('MessageNotFound')
    expect(bodies(await queue.receive(1))).toEqual(['a'])
  })

  test('SET-05 the lock of a deferred message ends, too, and it stays deferred', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    const [locked] = await queue.receiver.receiveDeferredMessages(numberOf(message))
    if (locked === undefined) throw new Error('it was not there')
    space.clock.jump(61_000)
    expect(await codeOf(queue.receiver.completeMessage(locked))).toBe('MessageLockLost')
    expect(await queue.peekOne()).toMatchObject({ body: 'a', state: 'deferred' })
    const [again] = await queue.receiver.receiveDeferredMessages(numberOf(message))
    expect(again?.body).toBe('a')
  })

  test('SET-07 the lock of a deferred message can be renewed', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ lockDuration: 'PT1M' })
    await queue.send('a')
    const message = await queue.receiveOne()
    await queue.receiver.deferMessage(message)
    const [locked] = await queue.receiver.receiveDeferredMessages(numberOf(message))
    if (locked === undefined) throw new Error('it was not there')
    space.clock.jump(40_000)
    await queue.receiver.renewMessageLock(locked)
    space.clock.jump(40_000)
    await queue.receiver.completeMessage(locked)
    expect(await queue.peek()).toEqual([])
  })

  test('SET-05 another client receives what one has deferred', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const message = await receiveOne(queue.receiver)
    await queue.receiver.deferMessage(message)
    const other = queue.through(space.connect())
    const [deferred] = await other.receiver.receiveDeferredMessages(numberOf(message))
    expect(deferred?.body).toBe('a')
  })
})
