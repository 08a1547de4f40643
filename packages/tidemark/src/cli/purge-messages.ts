import { errorCode } from '@tidemark/contracts'
import type {
  MessageBroker,
  MessageReceiver,
  ReceivedMessage,
  SubscriptionName,
} from '@tidemark/messaging'

/** Of messages that are removed at once. */
const PIECE = 250
const NO_WAIT = { maxWaitTimeInMs: 0 }
const DELETING = { receiveMode: 'receiveAndDelete' } as const

export interface PurgedMessages {
  readonly purged: number
  /** Those that are locked, or in sessions that are held, and those that came meanwhile. */
  readonly left: number
}

type EntityName = string | SubscriptionName

/** Removes every message of an entity that nobody has: those that wait, that are deferred and that are scheduled. */
export async function purgeMessages(
  broker: MessageBroker,
  entity: EntityName,
): Promise<PurgedMessages> {
  const { requiresSession } =
    typeof entity === 'string'
      ? await broker.getQueue(entity)
      : await broker.getSubscription(entity)
  await using receiver = broker.createReceiver(entity, DELETING)
  let purged = requiresSession ? 0 : await drain(receiver)
  for await (const messages of pieces(receiver)) {
    const scheduled = messages.filter(({ state }) => state === 'scheduled')
    if (typeof entity === 'string') purged += await cancel(broker, entity, scheduled)
    const others = messages.filter(({ state }) => state !== 'scheduled')
    if (requiresSession) purged += await purgeSessions(broker, entity, others)
    else purged += await purgeDeferred(receiver, others)
  }
  const { totalMessageCount, deadLetterMessageCount } = await countsOf(broker, entity)
  return { purged, left: totalMessageCount - deadLetterMessageCount }
}

/** Removes every message of an entity's dead-letter queue that nobody has. */
export async function purgeDeadLetters(
  broker: MessageBroker,
  entity: EntityName,
): Promise<PurgedMessages> {
  await using receiver = broker.createReceiver(entity, { ...DELETING, subQueueType: 'deadLetter' })
  let purged = await drain(receiver)
  for await (const messages of pieces(receiver)) purged += await purgeDeferred(receiver, messages)
  const { deadLetterMessageCount } = await countsOf(broker, entity)
  return { purged, left: deadLetterMessageCount }
}

async function drain(receiver: MessageReceiver): Promise<number> {
  for (let drained = 0; ;) {
    const { length } = await receiver.receiveMessages(PIECE, NO_WAIT)
    if (length === 0) return drained
    drained += length
  }
}

/** What is left, in pieces, in the order of numbers. */
async function* pieces(
  receiver: MessageReceiver,
): AsyncGenerator<readonly ReceivedMessage[], void, void> {
  for (let from = 0; ;) {
    const messages = await receiver.peekMessages(PIECE, { fromSequenceNumber: from })
    const last = messages.at(-1)
    if (last === undefined) return
    yield messages
    from = last.sequenceNumber + 1
  }
}

async function purgeSessions(
  broker: MessageBroker,
  entity: EntityName,
  messages: readonly ReceivedMessage[],
): Promise<number> {
  let purged = 0
  for (const session of new Set(messages.map(({ sessionId }) => sessionId))) {
    if (session === undefined) continue
    try {
      await using receiver = await broker.acceptSession(entity, session, DELETING)
      const own = messages.filter(({ sessionId }) => sessionId === session)
      purged += (await drain(receiver)) + (await purgeDeferred(receiver, own))
    } catch (error) {
      if (errorCode(error) !== 'ERR_SESSION_CANNOT_BE_LOCKED') throw error
    }
  }
  return purged
}

function purgeDeferred(
  receiver: MessageReceiver,
  messages: readonly ReceivedMessage[],
): Promise<number> {
  const deferred = messages.filter(({ state }) => state === 'deferred')
  return countDone(deferred, (numbers) => receiver.receiveDeferredMessages(numbers))
}

async function cancel(
  broker: MessageBroker,
  queue: string,
  scheduled: readonly ReceivedMessage[],
): Promise<number> {
  await using sender = broker.createSender(queue)
  return await countDone(scheduled, (numbers) => sender.cancelScheduledMessages(numbers))
}

/** All at once; one by one when one of them cannot be had any more, because then none was. */
async function countDone(
  messages: readonly ReceivedMessage[],
  act: (numbers: readonly number[]) => Promise<unknown>,
): Promise<number> {
  if (messages.length === 0) return 0
  try {
    await act(messages.map(({ sequenceNumber }) => sequenceNumber))
    return messages.length
  } catch (error) {
    if (errorCode(error) !== 'ERR_MESSAGE_NOT_FOUND') throw error
    if (messages.length === 1) return 0
  }
  let done = 0
  for (const message of messages) done += await countDone([message], act)
  return done
}

function countsOf(
  broker: MessageBroker,
  entity: EntityName,
):
  | ReturnType<MessageBroker['getSubscriptionRuntimeProperties']>
  | ReturnType<MessageBroker['getQueueRuntimeProperties']> {
  return typeof entity === 'string'
    ? broker.getQueueRuntimeProperties(entity)
    : broker.getSubscriptionRuntimeProperties(entity)
}
