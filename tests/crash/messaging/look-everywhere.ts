import { isDeepStrictEqual } from 'node:util'
import type { MessageBroker, SubscriptionName } from '@tidemark/messaging'
import type { FoundMessage } from './message-ledger.ts'

/** Entities that hold messages, by the names that journals use. */
export type MessagePlaces = readonly (readonly [name: string, entity: string | SubscriptionName])[]

const PAGE = 500

/** Every message that is in one of the entities, or in its dead-letter queue. */
export async function lookEverywhere(
  broker: MessageBroker,
  places: MessagePlaces,
): Promise<readonly FoundMessage[]> {
  let found = await peekEverywhere(broker, places)
  // A lock that ends between two looks moves a message from where it was seen to where it is seen again.
  for (;;) {
    const again = await peekEverywhere(broker, places)
    if (isDeepStrictEqual(again, found)) return found
    found = again
  }
}

async function peekEverywhere(
  broker: MessageBroker,
  places: MessagePlaces,
): Promise<readonly FoundMessage[]> {
  const found: FoundMessage[] = []
  for (const [name, entity] of places) {
    for (const subQueueType of [undefined, 'deadLetter'] as const) {
      await using receiver = broker.createReceiver(entity, { subQueueType })
      found.push(...(await peekAll(name, receiver)))
    }
  }
  return found
}

async function peekAll(
  entity: string,
  receiver: ReturnType<MessageBroker['createReceiver']>,
): Promise<readonly FoundMessage[]> {
  const found: FoundMessage[] = []
  for (;;) {
    const messages = await receiver.peekMessages(PAGE)
    if (messages.length === 0) return found
    for (const { messageId: id, enqueuedSequenceNumber: number } of messages) {
      found.push({ entity, id, number })
    }
  }
}
