import type { MessageBroker } from '@tidemark/messaging'

/** Sent to, and received from, all the time. */
export const STEADY = 'steady'
/** Of those who come and go. */
export const VISITED = 'visited'
export const SESSIONS = 'sessions'

export async function createSoakQueues(broker: MessageBroker): Promise<void> {
  // Locks of broken connections come to their end within the run, over and over.
  const options = { lockDuration: 'PT5S', maxDeliveryCount: 1_000 }
  await broker.createQueue(STEADY, options)
  await broker.createQueue(VISITED, options)
  await broker.createQueue(SESSIONS, { ...options, requiresSession: true })
}
