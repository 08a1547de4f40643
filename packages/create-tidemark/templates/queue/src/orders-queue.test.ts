import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMessaging, openStore } from 'tidemark'
import { handleOrders, openQueue, type Order } from './orders-queue.ts'

test('orders are handled once, and one that keeps failing becomes a dead letter', async (t) => {
  t.mock.method(console, 'error', () => {})
  const store = await openStore(':memory:')
  await store.createDatabaseIfNotExists('shop')
  const broker = openMessaging(store.database('shop'))
  t.after(async () => {
    await broker.close()
    await store.close()
  })
  await openQueue(broker)
  await openQueue(broker) // a second worker starts

  const handled: string[] = []
  let attempts = 0
  const handling = handleOrders(broker, async ({ id }) => {
    if (id === 'bad') attempts += 1
    if (id === 'bad') throw new Error('there is no such item')
    handled.push(id)
  })
  const sender = broker.createSender<Order>('orders')
  await sender.sendMessages([
    { messageId: 'o1', body: { id: 'o1', total: 12 } },
    { messageId: 'bad', body: { id: 'bad', total: 1 } },
    { messageId: 'o2', body: { id: 'o2', total: 30 } },
  ])

  const dead = broker.createReceiver<Order>('orders', { subQueueType: 'deadLetter' })
  const [letter] = await dead.receiveMessages(1, { maxWaitTimeInMs: 30_000 })
  assert.equal(letter?.body.id, 'bad')
  assert.equal(letter.deadLetterReason, 'MaxDeliveryCountExceeded')
  assert.equal(attempts, 3)
  await dead.completeMessage(letter)
  await handling.close()
  assert.deepEqual(handled.toSorted(), ['o1', 'o2'])
})
