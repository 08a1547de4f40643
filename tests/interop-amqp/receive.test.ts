import type { ServiceBusReceivedMessage } from '@azure/service-bus'
import Long from 'long'
import { describe, expect, test } from 'vitest'
import { bodies } from './client-entity.ts'
import { Namespace } from './interop-amqp.fixture.ts'

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
  test('SET-21 after an empty receive the receiver has no credit left over', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect(await queue.receiveNow()).toEqual([])
    await queue.send('a')
    const other = queue.through(space.connect())
    expect(bodies(await other.receive(1))).toEqual(['a'])
  })

  test('SET-23 a transfer dead-letter queue is there, and empty', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const client = space.connect()
    const options = { subQueueType: 'transferDeadLetter' } as const
    const receiver = client.createReceiver(queue.name, options)
    expect(await receiver.receiveMessages(1, { maxWaitTimeInMs: 100 })).toEqual([])
    expect(await receiver.peekMessages(1)).toEqual([])
    const missing = client.createReceiver('nowhere', options)
    await expect(missing.peekMessages(1)).rejects.toMatchObject({
      code: 'MessagingEntityNotFound',
    })
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
})

describe('Subscribing with handlers', () => {
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
  test('SET-09 above the largest number there is nothing', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send('a')
    const above = { fromSequenceNumber: Long.MAX_VALUE }
    expect(await queue.open().peekMessages(1, above)).toEqual([])
  })
})
