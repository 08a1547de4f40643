import { errorCode } from 'tidemark'
import type { MessageBroker, ReceivedMessage, Subscription } from 'tidemark'

export interface Order {
  readonly id: string
  readonly total: number
}

/** Does what an order asks for. It may be called again for one order: when it failed, or its process died. */
export type HandleOrder = (order: Order) => Promise<void>

/** The queue, with time to live and dead letters. */
export async function openQueue(broker: MessageBroker): Promise<void> {
  const settings = {
    lockDuration: 'PT30S',
    maxDeliveryCount: 3, // then it is a dead letter
    defaultMessageTimeToLive: 'P1D',
    deadLetteringOnMessageExpiration: true,
  }
  try {
    await broker.createQueue('orders', settings)
  } catch (error) {
    if (errorCode(error) !== 'ERR_MESSAGING_ENTITY_EXISTS') throw error
    await broker.updateQueue('orders', settings) // of an earlier release of this program
  }
}

/** Handles orders until the subscription is closed. What fails comes again; any number of processes can do this. */
export function handleOrders(broker: MessageBroker, handle: HandleOrder): Subscription {
  const receiver = broker.createReceiver<Order>('orders')
  const subscription = receiver.subscribe(
    {
      async processMessage(message: ReceivedMessage<Order>) {
        await handle(message.body)
      },
      async processError({ error, errorSource }) {
        console.error(`${errorSource} failed:`, error)
      },
    },
    { maxConcurrentCalls: 4 },
  )
  return {
    async close() {
      await subscription.close() // waits for the orders in hand
      await receiver.close()
    },
  }
}
