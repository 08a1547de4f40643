import type { DocumentBody } from '@tidemark/contracts'
import { ChangeFeedProcessorHost, MemoryLeaseStore } from '@tidemark/processor'
import { forwardChanges } from '@tidemark/jobs'
import type { Collection } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { only, receive, receiveOne } from './client-entity.ts'
import { Namespace } from './interop-amqp.fixture.ts'

interface Order extends DocumentBody {
  readonly customer: string
  readonly total?: number
}

function orders(space: Namespace): Promise<Collection<Order>> {
  return space.database.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
  })
}

describe('Queues and change feeds', () => {
  test('SET-04 the client receives what a processor could not do, with the reason', async () => {
    await using space = await Namespace.open()
    const collection = await orders(space)
    await collection.upsert({ id: 'o1', customer: 'ada' })
    const letters = await space.queue(
      { requiresSession: true, requiresDuplicateDetection: true },
      'letters',
    )
    const host = new ChangeFeedProcessorHost<Order>({
      group: 'invoices',
      feed: collection,
      leases: new MemoryLeaseStore(),
      feedOptions: { startFromBeginning: true },
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } },
      deadLetters: space.broker.queueDeadLetters('letters'),
      logger: false,
    })
    await host.runUntilCaughtUp((_, changes) => {
      for (const { id } of changes) throw new RangeError(`${id} has no total`)
    })
    const dead = letters.openDead()
    const letter = await receiveOne(dead)
    expect(letter).toMatchObject({
      deadLetterReason: 'RangeError',
      deadLetterErrorDescription: 'o1 has no total',
      applicationProperties: { group: 'invoices', id: 'o1' },
    })
    expect(JSON.stringify(letter.body)).toContain('"customer":"ada"')
    await dead.completeMessage(letter)
    expect(await letters.peekDead()).toEqual([])
  })

  test('SET-04 a letter that the client sends back is done by the processor', async () => {
    await using space = await Namespace.open()
    const collection = await orders(space)
    await collection.upsert({ id: 'o1', customer: 'ada' })
    const letters = await space.queue({ requiresSession: true }, 'letters')
    const done: string[] = []
    let mayFail = true
    const host = new ChangeFeedProcessorHost<Order>({
      group: 'invoices',
      feed: collection,
      leases: new MemoryLeaseStore(),
      feedOptions: { startFromBeginning: true },
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 }, redrivePollMs: 50 },
      deadLetters: space.broker.queueDeadLetters('letters', { redriveCacheMs: 1 }),
      logger: false,
    })
    await host.registerObserver((_, changes) => {
      for (const { id } of changes) {
        if (mayFail) throw new RangeError(`${id} has no total`)
        done.push(id)
      }
    })
    const dead = letters.openDead()
    const letter = await receiveOne(dead)
    mayFail = false
    await letters.sender.sendMessages(letter)
    await dead.completeMessage(letter)
    await letters.settlesAt({ here: [], dead: [] })
    await host.unregisterObservers()
    expect(done).toEqual(['o1'])
  })

  test('SET-17 what the client sends a worker puts into a collection, once by its id', async () => {
    await using space = await Namespace.open()
    const collection = await orders(space)
    const queue = await space.queue()
    await queue.send(
      { body: { customer: 'ada', total: 12 }, messageId: 'o1' },
      { body: { customer: 'bob', total: 3 }, messageId: 'o2' },
    )
    await using receiver = space.broker.createReceiver<Omit<Order, 'id'>>('orders')
    const subscription = receiver.subscribe({
      processMessage: async ({ body, messageId, deliveryCount }) => {
        await collection.upsert({ ...body, id: String(messageId) })
        // As if the worker had died before it could complete.
        if (deliveryCount === 0) throw new Error('died')
      },
      processError: async () => {},
    })
    await queue.settlesAt({ here: [], dead: [] })
    await subscription.close()
    const stored = await collection.readDocuments({ partitionKey: 'ada' })
    expect(stored.documents).toMatchObject([{ id: 'o1', customer: 'ada', total: 12 }])
    expect(await collection.count()).toBe(2)
  })

  test('TOP-01 changes of a collection reach the client by a topic, each key in order', async () => {
    await using space = await Namespace.open()
    const collection = await orders(space)
    await collection.upsert({ id: 'o1', customer: 'ada', total: 12 })
    await collection.upsert({ id: 'o2', customer: 'bob', total: 3 })
    await collection.upsert({ id: 'o3', customer: 'ada', total: 5 })
    const billing = await space.subscription({ requiresSession: true })
    await using forwarding = forwardChanges({
      feed: collection,
      to: space.broker.createSender('events'),
      leases: new MemoryLeaseStore(),
      stopWhenCaughtUp: true,
    })
    await forwarding.start()
    await forwarding.finished
    const session = await billing.accept('ada')
    const messages = await receive(session, 2)
    expect(messages.map(({ body, subject }) => [(body as Order).id, subject])).toEqual([
      ['o1', 'document'],
      ['o3', 'document'],
    ])
    expect(messages[0]?.applicationProperties).toMatchObject({
      collection: 'shop/orders',
      id: 'o1',
    })
    expect(only(await receive(await billing.accept('bob'), 1)).body).toMatchObject({ id: 'o2' })
  })
})
