import { errorCode } from '@tidemark/contracts'
import type { MessageReceiver, ReceivedMessage, SubscriptionName } from '@tidemark/messaging'
import { setTimeout as sleep } from 'node:timers/promises'
import { generator } from '../lane.ts'
import { outageCodes } from '../store-place.ts'
import { MessageJournal } from './message-journal.ts'
import type { WorkerTask } from './messages.ts'
import {
  ALL,
  BRIEF,
  CARTS,
  LATER,
  NEWS,
  ODD,
  openMessagingStore,
  ORDERS,
  WORK,
} from './messaging-store.ts'

// Sends, receives and settles in several lanes at once until it is killed.

const task = JSON.parse(process.argv[2] ?? '') as WorkerTask
const { round, share } = task
const chance = generator(task.seed * 7_919 + round * 31 + share)
const journal = new MessageJournal(task.journal)
const { broker, orders } = await openMessagingStore(task.place)
const SESSIONS = 6
let made = 0

/** The lock may have ended meanwhile; a server that went away does not say whether a call happened. */
const ALLOWED = new Set([
  'ERR_MESSAGE_LOCK_LOST',
  'ERR_SESSION_LOCK_LOST',
  'ERR_SERVICE_TIMEOUT',
  'ERR_SESSION_CANNOT_BE_LOCKED',
  ...outageCodes(task.place),
])

const lanes = [
  sendLane(WORK),
  sendLane(WORK),
  sendLane(BRIEF),
  sendCarts(),
  sendNews(),
  scheduleLane(),
  outboxLane(),
  outboxLane(),
  removeLane(WORK, WORK),
  removeLane(WORK, WORK),
  removeLane(BRIEF, BRIEF),
  removeLane(LATER, LATER),
  removeLane(ORDERS, ORDERS),
  removeLane('news/all', ALL),
  removeLane('news/odd', ODD),
  removeDead(WORK),
  removeDead(BRIEF),
  removeCarts(),
]
process.send?.({ kind: 'working' })
await Promise.all(lanes)

function nextId(): string {
  return `${round}-${share}-${made++}`
}

/** Runs an action over and over; refusals that may happen are no faults. */
async function over(action: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await action()
    } catch (error) {
      if (!ALLOWED.has(errorCode(error) ?? '')) throw error
      await sleep(5)
    }
  }
}

async function sendLane(queue: string): Promise<void> {
  await using sender = broker.createSender(queue)
  await over(async () => {
    const messages = Array.from({ length: 1 + Math.floor(chance() * 4) }, () => {
      const id = nextId()
      return { messageId: id, body: { id, filler: 'x'.repeat(Math.floor(chance() * 700)) } }
    })
    for (const { messageId: id } of messages) journal.note('sending', queue, { id })
    await sender.sendMessages(messages)
    for (const { messageId: id } of messages) journal.note('sent', queue, { id })
    await sleep(chance() * 6)
  })
}

async function sendCarts(): Promise<void> {
  await using sender = broker.createSender(CARTS)
  await over(async () => {
    const id = nextId()
    const session = `s${Math.floor(chance() * SESSIONS)}`
    journal.note('sending', CARTS, { id, session })
    await sender.sendMessages({ messageId: id, sessionId: session, body: id })
    journal.note('sent', CARTS, { id, session })
    await sleep(chance() * 6)
  })
}

async function sendNews(): Promise<void> {
  await using sender = broker.createSender(NEWS)
  await over(async () => {
    const id = nextId()
    const n = Math.floor(chance() * 10)
    const copies = n % 2 === 1 ? ['news/all', 'news/odd'] : ['news/all']
    for (const copy of copies) journal.note('sending', copy, { id })
    await sender.sendMessages({ messageId: id, body: id, applicationProperties: { n } })
    for (const copy of copies) journal.note('sent', copy, { id })
    await sleep(chance() * 10)
  })
}

async function scheduleLane(): Promise<void> {
  await using sender = broker.createSender(LATER)
  await over(async () => {
    const id = nextId()
    journal.note('sending', LATER, { id })
    const at = new Date(Date.now() + 20 + chance() * 60)
    const [number = 0] = await sender.scheduleMessages({ messageId: id, body: id }, at)
    journal.note('sent', LATER, { id })
    if (chance() < 0.2) {
      journal.note('removing', LATER, { id })
      try {
        await sender.cancelScheduledMessages(number)
        journal.note('removed', LATER, { id })
      } catch (error) {
        // It was enqueued meanwhile.
        if (errorCode(error) !== 'ERR_MESSAGE_NOT_FOUND') throw error
      }
    }
    await sleep(chance() * 10)
  })
}

/** Documents with messages in two queues; some are refused, by a document or by a message. */
async function outboxLane(): Promise<void> {
  await using toOrders = broker.createSender(ORDERS)
  await using toWork = broker.createSender(WORK)
  await using toCarts = broker.createSender(CARTS)
  await over(async () => {
    const id = nextId()
    const customer = `c${Math.floor(chance() * 4)}`
    const create = { kind: 'create', document: { id, customer } } as const
    const both = [toOrders, toWork].map((to) => to.outgoing({ messageId: id, body: id }))
    if (chance() < 0.2) {
      // Carts need a session. Nobody notes these: neither document nor message may ever be seen.
      const refused = { messages: [...both, toCarts.outgoing({ messageId: id, body: id })] }
      await refusal(orders.batch(customer, [create], refused), 'ERR_MESSAGING_NOT_ALLOWED')
      return
    }
    for (const queue of [ORDERS, WORK]) journal.note('sending', queue, { id })
    await orders.batch(customer, [create], { messages: both })
    for (const queue of [ORDERS, WORK]) journal.note('sent', queue, { id })
    if (chance() < 0.2) {
      const never = toOrders.outgoing({ messageId: `${id}-never`, body: id })
      await refusal(orders.batch(customer, [create], { messages: [never] }), 'ERR_BATCH_FAILED')
    }
    await sleep(chance() * 6)
  })
}

async function refusal(call: Promise<unknown>, code: string): Promise<void> {
  try {
    await call
  } catch (error) {
    if (errorCode(error) !== code) throw error
    return
  }
  throw new Error(`was not refused with ${code}`)
}

async function removeLane(name: string, entity: string | SubscriptionName): Promise<void> {
  await using receiver = broker.createReceiver(entity)
  await over(async () => {
    const messages = await receiver.receiveMessages(8, { maxWaitTimeInMs: 200 })
    await sleep(chance() * 4)
    for (const message of messages) {
      const what = chance()
      if (what < 0.1) await receiver.abandonMessage(message)
      else if (what < 0.15) await receiver.deadLetterMessage(message)
      else if (what < 0.18) await deferAndTake(name, receiver, message)
      else if (what < 0.95) await remove(name, receiver, message)
      // The others wait for the end of their locks.
    }
  })
}

async function deferAndTake(
  name: string,
  receiver: MessageReceiver,
  message: ReceivedMessage,
): Promise<void> {
  await receiver.deferMessage(message)
  const [again] = await receiver.receiveDeferredMessages(message.sequenceNumber)
  if (again !== undefined && chance() < 0.8) await remove(name, receiver, again)
}

async function removeDead(queue: string): Promise<void> {
  await using receiver = broker.createReceiver(queue, { subQueueType: 'deadLetter' })
  await over(async () => {
    const messages = await receiver.receiveMessages(4, { maxWaitTimeInMs: 200 })
    for (const message of messages) if (chance() < 0.8) await remove(queue, receiver, message)
  })
}

async function removeCarts(): Promise<void> {
  await over(async () => {
    await using receiver = await broker.acceptNextSession(CARTS, { maxWaitTimeInMs: 200 })
    const messages = await receiver.receiveMessages(5, { maxWaitTimeInMs: 20 })
    for (const message of messages) {
      if (chance() < 0.1) break
      await remove(CARTS, receiver, message, receiver.sessionId)
    }
  })
}

async function remove(
  name: string,
  receiver: MessageReceiver,
  message: ReceivedMessage,
  session?: string,
): Promise<void> {
  const facts = {
    id: message.messageId,
    number: message.enqueuedSequenceNumber,
    ...(session !== undefined && { session }),
  }
  journal.note('removing', name, facts)
  await receiver.completeMessage(message)
  journal.note('removed', name, facts)
}
