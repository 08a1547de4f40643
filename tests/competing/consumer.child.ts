import { errorCode } from '@tidemark/contracts'
import type { MessageReceiver, ReceivedMessage } from '@tidemark/messaging'
import { generator } from '../crash/lane.ts'
import { outageCodes } from '../crash/store-place.ts'
import { ConsumptionJournal, type ConsumerDeed } from './consumption-journal.ts'
import { CARTS, openBroker, WORK } from './entities.ts'
import type { ConsumerTask } from './messages.ts'

// Receives and completes until it is killed, and now and then abandons, or lets a lock end.

const task = JSON.parse(process.argv[2] ?? '') as ConsumerTask
const chance = generator(task.seed)
const journal = new ConsumptionJournal(task.journal)
const { broker } = await openBroker(task.place)
/** It was stopped, or another one took the session. */
const LOCK_ENDED = new Set(['ERR_MESSAGE_LOCK_LOST', 'ERR_SESSION_LOCK_LOST'])
const ALLOWED = new Set([...LOCK_ENDED, 'ERR_SERVICE_TIMEOUT', ...outageCodes(task.place)])

const lanes = [consumeWork(), consumeWork(), consumeCarts()]
process.send?.({ kind: 'consuming' })
await Promise.all(lanes)

async function consumeWork(): Promise<void> {
  await using receiver = broker.createReceiver(WORK)
  for (;;) {
    await allowed(async () => {
      const messages = await receiver.receiveMessages(50, { maxWaitTimeInMs: 500 })
      for (const message of messages) note('received', message)
      await Promise.all(messages.map((message) => settle(receiver, message)))
    })
  }
}

async function consumeCarts(): Promise<void> {
  for (;;) {
    await allowed(async () => {
      await using receiver = await broker.acceptNextSession(CARTS, {
        maxWaitTimeInMs: 500,
        maxAutoLockRenewalDurationInMs: 0,
      })
      const messages = await receiver.receiveMessages(20, { maxWaitTimeInMs: 0 })
      for (const message of messages) note('received', message)
      for (const message of messages) await complete(receiver, message)
    })
  }
}

async function allowed(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!ALLOWED.has(errorCode(error) ?? '')) throw error
  }
}

async function settle(receiver: MessageReceiver, message: ReceivedMessage): Promise<void> {
  const what = chance()
  if (what < 0.01) note('left', message)
  else if (what < 0.06) await abandon(receiver, message)
  else await complete(receiver, message)
}

async function abandon(receiver: MessageReceiver, message: ReceivedMessage): Promise<void> {
  note('abandoning', message)
  await ifLocked(message, () => receiver.abandonMessage(message), 'abandoned')
}

async function complete(receiver: MessageReceiver, message: ReceivedMessage): Promise<void> {
  note('completing', message)
  await ifLocked(message, () => receiver.completeMessage(message), 'completed')
}

async function ifLocked(
  message: ReceivedMessage,
  act: () => Promise<void>,
  deed: ConsumerDeed,
): Promise<void> {
  try {
    await act()
    note(deed, message)
  } catch (error) {
    if (!LOCK_ENDED.has(errorCode(error) ?? '')) throw error
    note('lost', message)
    if (message.sessionId !== undefined) throw error
  }
}

function note(deed: ConsumerDeed, message: ReceivedMessage): void {
  journal.note({
    deed,
    id: message.messageId,
    token: message.lockToken ?? '',
    atMs: Date.now(),
    deliveryCount: message.deliveryCount,
    lockedUntilMs: message.lockedUntilUtc?.getTime() ?? 0,
    session: message.sessionId ?? '',
    number: message.sequenceNumber,
  })
}
