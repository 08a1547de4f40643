import { errorCode, type MessageBroker, type ReceivedMessage, type SessionReceiver } from 'tidemark'

export interface Order {
  readonly id: string
  readonly total: number
}

/** Handles one order of a customer. `spent` is what the customer has spent before it. */
export type HandleOrder = (
  message: ReceivedMessage<Order>,
  customer: { readonly id: string; readonly spent: number },
) => Promise<void>

/**
 * One of any number of workers, in this process or in others. Takes customer after customer until none has orders left. The
 * orders of one customer are handled in order, by one worker at a time.
 */
export async function workOnOrders(broker: MessageBroker, handle: HandleOrder): Promise<void> {
  for (;;) {
    const session = await nextCustomer(broker)
    if (session === undefined) return
    await using customer = session
    await serveCustomer(customer, handle)
  }
}

/** Undefined when no customer has orders that nobody works on. */
async function nextCustomer(broker: MessageBroker): Promise<SessionReceiver<Order> | undefined> {
  try {
    return await broker.acceptNextSession<Order>('orders', { maxWaitTimeInMs: 200 })
  } catch (error) {
    if (errorCode(error) === 'ERR_SERVICE_TIMEOUT') return undefined
    throw error
  }
}

async function serveCustomer(customer: SessionReceiver<Order>, handle: HandleOrder): Promise<void> {
  for (;;) {
    const [message] = await customer.receiveMessages(1, { maxWaitTimeInMs: 0 })
    if (message === undefined) return
    const { spent, last } = readState(await customer.getSessionState())
    // A worker that died after it wrote the state, and before it completed the message, has done the work.
    if (message.sequenceNumber > last) {
      try {
        await handle(message, { id: customer.sessionId, spent })
      } catch {
        // It comes again at once, in front. After `maxDeliveryCount` times it is a dead letter.
        await customer.abandonMessage(message)
        continue
      }
      const state = { spent: spent + message.body.total, last: message.sequenceNumber }
      await customer.setSessionState(new TextEncoder().encode(JSON.stringify(state)))
    }
    await customer.completeMessage(message)
  }
}

/** What a session keeps of its customer. */
interface CustomerState {
  readonly spent: number
  /** The sequence number of the last order that was handled. */
  readonly last: number
}

function readState(state: Uint8Array | undefined): CustomerState {
  if (state === undefined) return { spent: 0, last: 0 }
  return JSON.parse(new TextDecoder().decode(state)) as CustomerState
}
