import {
  ServiceBusClient,
  type ServiceBusMessage,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusSender,
} from '@azure/service-bus'
import { setTimeout as sleep } from 'node:timers/promises'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { generator } from '../lane.ts'
import { MessageJournal } from '../messaging/message-journal.ts'
import { CARTS, LATER, NEWS, WORK } from '../messaging/messaging-store.ts'
import { isOutage } from './client-errors.ts'
import { Gate } from './gate.ts'
import type { ClientsMessage, ClientsOrder, ClientsTask } from './messages.ts'
import { PATIENT } from './patient-queue.ts'

// Eight official clients that send, receive and settle in several lanes, while their server is killed again and again.

const task = JSON.parse(process.argv[2] ?? '') as ClientsTask
const chance = generator(task.seed)
const journal = new MessageJournal(task.journal)
const patientJournal = new MessageJournal(task.patientJournal)
const gate = new Gate()
const SESSIONS = 6
const CLIENTS = 8
/** A call that gets no answer ends so soon. */
const CALL_MS = 3_000
/** Nobody renews their locks, so that those of a broken connection come to their end. */
const UNRENEWED = { maxAutoLockRenewalDurationInMs: 0 }
/** Of all calls of an action. */
const ACTION_MS = 20_000
let made = 0
let isFinishing = false

/** A second attempt would send the messages of the first one again. */
const AT_ONCE = { maxRetries: 0, timeoutInMs: CALL_MS }
const PATIENTLY = { maxRetries: 10, retryDelayInMs: 50, timeoutInMs: CALL_MS }
const clients = Array.from(
  { length: CLIENTS },
  (_, index) =>
    new ServiceBusClient(
      `Endpoint=sb://127.0.0.1:${task.port};SharedAccessKeyName=crash;` +
        `SharedAccessKey=${EMULATOR_ACCESS_KEY};UseDevelopmentEmulator=true;`,
      { retryOptions: index === CLIENTS - 1 ? PATIENTLY : AT_ONCE },
    ),
)
const [singles, batches, ofSessions, ofTopic, workers, others, settlers, patient] = clients as [
  ServiceBusClient,
  ServiceBusClient,
  ServiceBusClient,
  ServiceBusClient,
  ServiceBusClient,
  ServiceBusClient,
  ServiceBusClient,
  ServiceBusClient,
]

const lanes = [
  sendLane(singles.createSender(WORK), { entity: WORK, atOnce: 1 }),
  sendLane(singles.createSender(WORK), { entity: WORK, atOnce: 1 }),
  sendLane(batches.createSender(WORK), { entity: WORK, atOnce: 20 }),
  scheduleLane(batches.createSender(LATER)),
  sendCarts(ofSessions.createSender(CARTS)),
  removeCarts(ofSessions),
  removeCarts(others),
  sendNews(ofTopic.createSender(NEWS)),
  removeLane('news/all', ofTopic.createReceiver(NEWS, 'all', UNRENEWED)),
  removeLane('news/odd', others.createReceiver(NEWS, 'odd', UNRENEWED)),
  removeLane(WORK, workers.createReceiver(WORK, UNRENEWED)),
  removeLane(WORK, settlers.createReceiver(WORK, UNRENEWED)),
  removeLane(LATER, others.createReceiver(LATER, UNRENEWED)),
  removeDead(settlers),
]
const patientSending = sendPatiently(patient.createSender(PATIENT))
const subscription = subscribePatiently(patient.createReceiver(PATIENT, UNRENEWED))

for (const lane of lanes) lane.catch(fail)
patientSending.catch(fail)
process.on('unhandledRejection', (reason) => {
  // Where the client closes the link of a session just when its lock ends, the library forgets a promise of its own.
  const condition: unknown = Reflect.get(Object(reason), 'condition')
  if (condition !== 'com.microsoft:session-lock-lost') fail(reason)
})
process.on('disconnect', () => process.exit(0))
process.on('message', (order) => {
  // Only the run sends messages.
  obey(order as ClientsOrder).catch(fail)
})

async function obey(order: ClientsOrder): Promise<void> {
  if (order === 'go') {
    gate.open()
    tell({ kind: 'going' })
  } else if (order === 'pause') {
    await gate.shut()
    tell({ kind: 'paused' })
  } else {
    isFinishing = true
    await Promise.all([gate.shut(), patientSending])
    await subscription.close()
    await Promise.all(clients.map((client) => client.close()))
    tell({ kind: 'finished' })
    process.disconnect()
  }
}

function tell(message: ClientsMessage): void {
  process.send?.(message)
}

function fail(error: unknown): void {
  console.error(error)
  process.exit(1)
}

function nextId(): string {
  return String(made++)
}

/** Runs an action over and over, but while the server is away; refusals that may happen are no faults. */
async function over(action: () => Promise<void>): Promise<void> {
  for (;;) await gate.run(() => withinLimit(attempt(action)))
}

async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    await action()
  } catch (error) {
    if (!isOutage(error)) throw error
    await sleep(5)
  }
}

/** Some calls of the client never end when their connection does. */
async function withinLimit(work: Promise<void>): Promise<void> {
  const done = new AbortController()
  const limit = sleep(ACTION_MS, undefined, { signal: done.signal }).catch(() => {})
  await Promise.race([work, limit]).finally(() => done.abort())
}

async function sendLane(
  sender: ServiceBusSender,
  { entity, atOnce }: { readonly entity: string; readonly atOnce: number },
): Promise<void> {
  await over(async () => {
    const messages = Array.from({ length: atOnce }, () => {
      const id = nextId()
      return { messageId: id, body: { id, filler: 'x'.repeat(Math.floor(chance() * 700)) } }
    })
    for (const { messageId: id } of messages) journal.note('sending', entity, { id })
    await sender.sendMessages(atOnce === 1 ? messages[0]! : messages)
    for (const { messageId: id } of messages) journal.note('sent', entity, { id })
    await sleep(chance() * 6)
  })
}

async function sendCarts(sender: ServiceBusSender): Promise<void> {
  await over(async () => {
    const id = nextId()
    const session = `s${Math.floor(chance() * SESSIONS)}`
    journal.note('sending', CARTS, { id, session })
    await sender.sendMessages({ messageId: id, sessionId: session, body: id })
    journal.note('sent', CARTS, { id, session })
    await sleep(chance() * 6)
  })
}

async function sendNews(sender: ServiceBusSender): Promise<void> {
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

async function scheduleLane(sender: ServiceBusSender): Promise<void> {
  await over(async () => {
    const id = nextId()
    journal.note('sending', LATER, { id })
    const at = new Date(Date.now() + 20 + chance() * 60)
    const [number] = await sender.scheduleMessages({ messageId: id, body: id }, at)
    journal.note('sent', LATER, { id })
    if (chance() < 0.2 && number !== undefined) {
      journal.note('removing', LATER, { id })
      await sender.cancelScheduledMessages(number)
      journal.note('removed', LATER, { id })
    }
    await sleep(chance() * 10)
  })
}

async function removeLane(name: string, receiver: ServiceBusReceiver): Promise<void> {
  await over(async () => {
    const messages = await receiver.receiveMessages(8, { maxWaitTimeInMs: 200 })
    for (const message of messages) {
      const what = chance()
      if (what < 0.1) await receiver.abandonMessage(message)
      else if (what < 0.15) await receiver.deadLetterMessage(message)
      else if (what < 0.18) await deferAndTake(name, receiver, message)
      else if (what < 0.95) await remove(receiver, { name, message })
      // The others wait for the end of their locks.
    }
  })
}

async function deferAndTake(
  name: string,
  receiver: ServiceBusReceiver,
  message: ServiceBusReceivedMessage,
): Promise<void> {
  await receiver.deferMessage(message)
  if (message.sequenceNumber === undefined) return
  const [again] = await receiver.receiveDeferredMessages(message.sequenceNumber)
  if (again !== undefined && chance() < 0.8) await remove(receiver, { name, message: again })
}

async function removeDead(client: ServiceBusClient): Promise<void> {
  const receiver = client.createReceiver(WORK, { subQueueType: 'deadLetter', ...UNRENEWED })
  await over(async () => {
    for (const message of await receiver.receiveMessages(4, { maxWaitTimeInMs: 200 })) {
      await remove(receiver, { name: WORK, message })
    }
  })
}

async function removeCarts(client: ServiceBusClient): Promise<void> {
  await over(async () => {
    const receiver = await client.acceptNextSession(CARTS, UNRENEWED)
    try {
      for (const message of await receiver.receiveMessages(10, { maxWaitTimeInMs: 100 })) {
        // What is behind it waits for the next one who accepts the session.
        if (chance() < 0.1) break
        await remove(receiver, { name: CARTS, message, session: receiver.sessionId })
      }
    } finally {
      await receiver.close()
    }
  })
}

async function sendPatiently(sender: ServiceBusSender): Promise<void> {
  while (!isFinishing) {
    const message: ServiceBusMessage = { messageId: nextId(), body: 'patient' }
    const id = String(message.messageId)
    patientJournal.note('sending', PATIENT, { id })
    await untilAccepted(sender, message)
    patientJournal.note('sent', PATIENT, { id })
    await sleep(chance() * 10)
  }
}

/** The client's own retries end where nobody listens at the port. */
async function untilAccepted(sender: ServiceBusSender, message: ServiceBusMessage): Promise<void> {
  for (;;) {
    try {
      await sender.sendMessages(message)
      return
    } catch (error) {
      if (!isOutage(error)) throw error
      await sleep(20)
    }
  }
}

function subscribePatiently(receiver: ServiceBusReceiver): { close(): Promise<void> } {
  const options = { autoCompleteMessages: false, maxConcurrentCalls: 4 }
  const handlers = {
    async processMessage(message: ServiceBusReceivedMessage): Promise<void> {
      await remove(receiver, { name: PATIENT, message, notes: patientJournal })
    },
    processError({ error }: { readonly error: Error }): Promise<void> {
      if (!isOutage(error)) fail(error)
      return Promise.resolve()
    },
  }
  return receiver.subscribe(handlers, options)
}

async function remove(
  receiver: ServiceBusReceiver,
  {
    name,
    message,
    session,
    notes = journal,
  }: {
    readonly name: string
    readonly message: ServiceBusReceivedMessage
    readonly session?: string
    readonly notes?: MessageJournal
  },
): Promise<void> {
  const facts = {
    id: String(message.messageId),
    number: message.enqueuedSequenceNumber ?? 0,
    ...(session !== undefined && { session }),
  }
  notes.note('removing', name, facts)
  await receiver.completeMessage(message)
  notes.note('removed', name, facts)
}
