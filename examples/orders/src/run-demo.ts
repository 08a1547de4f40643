import { openMessaging, openStore, type MessageBroker } from 'tidemark'
import { workOnOrders, type HandleOrder, type Order } from './order-worker.ts'

/** What the demo found at its end. */
export interface DemoResult {
  /** The orders of each customer that were handled, in order. */
  readonly handled: Readonly<Record<string, readonly string[]>>
  /** Orders with the reasons for which they became dead letters. */
  readonly deadLetters: Readonly<Record<string, string | undefined>>
}

/** Orders of three customers: one expires, one is refused until it is a dead letter, and comes back. */
export async function runDemo(folder: string, say: (line: string) => void): Promise<DemoResult> {
  await using store = await openStore(folder)
  await store.createDatabaseIfNotExists('shop')
  await using broker = openMessaging(store.database('shop'))
  await broker.createQueue('orders', {
    requiresSession: true, // each customer's orders are handled in order
    defaultMessageTimeToLive: 'P1D', // nobody wants an order of last week
    deadLetteringOnMessageExpiration: true, // but we want to know of it
    maxDeliveryCount: 3,
  })

  await using sender = broker.createSender<Order>('orders')
  await sender.sendMessages([
    { sessionId: 'ann', messageId: 'a1', body: { id: 'a1', total: 20 } },
    { sessionId: 'ann', messageId: 'a2', body: { id: 'a2', total: 5 } },
  ])
  await sender.sendMessages([
    { sessionId: 'bob', messageId: 'b1', body: { id: 'b1', total: 900 } },
    { sessionId: 'bob', messageId: 'b2', body: { id: 'b2', total: 10 } },
  ])
  const offer = { sessionId: 'eve', messageId: 'e1', body: { id: 'e1', total: 1 }, timeToLive: 100 }
  await sender.sendMessages(offer)
  await untilExpired(broker, 'e1')
  say('e1 has expired. It is still there, because nobody listens yet')

  const handled: Record<string, string[]> = {}
  let limit = 500
  const handle: HandleOrder = (message, customer) => {
    const { id, total } = message.body
    if (total > limit) {
      say(`${id} is refused, delivery ${message.deliveryCount + 1}`)
      return Promise.reject(new Error(`${total} is above the limit of ${limit}`))
    }
    ;(handled[customer.id] ??= []).push(id)
    say(`${id} of ${customer.id} is handled; ${customer.spent + total} spent so far`)
    return Promise.resolve()
  }
  await Promise.all([workOnOrders(broker, handle), workOnOrders(broker, handle)])

  const deadLetters = await readDeadLetters(broker)
  for (const [id, reason] of Object.entries(deadLetters)) say(`dead letter: ${id}, ${reason}`)

  limit = 1_000
  await using dead = broker.createReceiver<Order>('orders', { subQueueType: 'deadLetter' })
  const letters = await dead.peekMessages(10)
  const refused = letters.filter(({ messageId }) => messageId === 'b1')
  const sequenceNumbers = refused.map(({ sequenceNumber }) => sequenceNumber)
  await broker.redriveDeadLetters('orders', { sequenceNumbers })
  say('b1 is sent back to the queue')
  await workOnOrders(broker, handle)
  return { handled, deadLetters }
}

async function readDeadLetters(
  broker: MessageBroker,
): Promise<Readonly<Record<string, string | undefined>>> {
  await using dead = broker.createReceiver<Order>('orders', { subQueueType: 'deadLetter' })
  const letters = await dead.peekMessages(10)
  return Object.fromEntries(
    letters.map(({ messageId, deadLetterReason }) => [messageId, deadLetterReason]),
  )
}

/** Peeking is not listening: it makes nothing leave. */
async function untilExpired(broker: MessageBroker, messageId: string): Promise<void> {
  await using peeking = broker.createReceiver<Order>('orders')
  for (;;) {
    const waiting = await peeking.peekMessages(10, { fromSequenceNumber: 0 })
    const message = waiting.find((each) => each.messageId === messageId)
    if (message !== undefined && message.expiresAtUtc.getTime() < Date.now()) return
    await new Promise((resolve) => {
      setTimeout(resolve, 20)
    })
  }
}
