import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceBusClient } from '@azure/service-bus'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import rhea, { type Connection, type EventContext } from 'rhea'
import { Gate } from '../../crash/amqp/gate.ts'
import type { LoadCounts, LoadMessage, LoadOrder, LoadTask } from './messages.ts'
import { SESSIONS, STEADY, VISITED } from './queues.ts'

/* Clients that come and go, some of them without a word, beside one that stays. */

// The soak is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as LoadTask
const gate = new Gate()
const counts = { visits: 0, breaks: 0, tornFrames: 0, sent: 0, completed: 0 }
const USER = 'soak'
const VISITORS = 2
const BREAKERS = 3
const STEADY_PAUSE_MS = 20
const VISIT_PAUSE_MS = 100
const BREAK_PAUSE_MS = 30
const ARRIVAL_MS = 60_000
/** Of the SASL layer, of AMQP, and an open frame whose end never comes. */
const TORN = Buffer.concat([
  Buffer.from('AMQP\x03\x01\x00\x00', 'latin1'),
  Buffer.from('0000002002010000005341d00000001000000002a309414e4f4e594d4f5553a000', 'hex'),
  Buffer.from('AMQP\x00\x01\x00\x00', 'latin1'),
  Buffer.from('0000004002000000005310c03301a1', 'hex'),
])
const TAKEN = new Set(['SessionCannotBeLocked', 'SessionLockLost', 'MessageLockLost'])
let isFinishing = false

const staying = client()
const steadySender = staying.createSender(STEADY)
const expected = new Set<string>()
const subscriptions = [STEADY, VISITED].map((queue) => {
  const receiver = staying.createReceiver(queue)
  return receiver.subscribe(
    {
      async processMessage(message) {
        await receiver.completeMessage(message)
        counts.completed++
        if (queue === STEADY) expected.delete(String(message.messageId))
      },
      processError: () => Promise.resolve(),
    },
    { autoCompleteMessages: false, maxConcurrentCalls: 8 },
  )
})
const sending = sendSteadily()
for (let index = 0; index < VISITORS; index++) comeAndGo(visit, VISIT_PAUSE_MS).catch(fail)
for (let index = 0; index < BREAKERS; index++) comeAndGo(breakOff, BREAK_PAUSE_MS).catch(fail)
comeAndGo(tearFrame, BREAK_PAUSE_MS).catch(fail)
sending.catch(fail)
process.on('disconnect', () => process.exit(0))
process.on('message', (order) => {
  // Only the soak sends messages.
  obey(order as LoadOrder).catch(fail)
})

async function obey(order: LoadOrder): Promise<void> {
  if (order === 'go') {
    gate.open()
    tell({ kind: 'going', ...seen() })
    return
  }
  await gate.shut()
  if (order === 'pause') {
    tell({ kind: 'paused', ...seen() })
    return
  }
  isFinishing = true
  await sending
  for (let waitedMs = 0; expected.size > 0 && waitedMs < ARRIVAL_MS; waitedMs += 50) await sleep(50)
  await Promise.all(subscriptions.map((subscription) => subscription.close()))
  await staying.close()
  tell({ kind: 'finished', missing: expected.size, ...seen() })
}

function seen(): LoadCounts {
  return { ...counts }
}

function tell(message: LoadMessage): void {
  process.send?.(message)
}

function fail(error: unknown): void {
  console.error(error)
  process.exit(1)
}

function client(): ServiceBusClient {
  return new ServiceBusClient(
    `Endpoint=sb://127.0.0.1:${task.port};SharedAccessKeyName=${USER};` +
      `SharedAccessKey=${EMULATOR_ACCESS_KEY};UseDevelopmentEmulator=true;`,
    { retryOptions: { maxRetries: 0 } },
  )
}

async function comeAndGo(come: () => Promise<void>, pauseMs: number): Promise<void> {
  for (;;) {
    await gate.run(come)
    await sleep(Math.random() * pauseMs)
  }
}

async function sendSteadily(): Promise<void> {
  while (!isFinishing) {
    const messageId = String(counts.sent)
    expected.add(messageId)
    await steadySender.sendMessages({ messageId, body: 'x'.repeat(Math.random() * 2_000) })
    counts.sent++
    await sleep(Math.random() * STEADY_PAUSE_MS)
  }
}

/** Does a bit of everything, and closes its client. */
async function visit(): Promise<void> {
  const visitor = client()
  try {
    await useQueue(visitor)
    await useSession(visitor)
  } catch (error) {
    // Others that come and go may have it.
    if (!TAKEN.has(String(Reflect.get(Object(error), 'code')))) throw error
  }
  await visitor.close()
  counts.visits++
}

async function useQueue(visitor: ServiceBusClient): Promise<void> {
  const sender = visitor.createSender(VISITED)
  await sender.sendMessages([{ body: 1 }, { body: 2 }])
  await sender.scheduleMessages({ body: 'later' }, new Date(Date.now() + 500))
  const receiver = visitor.createReceiver(VISITED)
  for (const message of await receiver.receiveMessages(2, { maxWaitTimeInMs: 50 })) {
    await receiver.completeMessage(message)
  }
}

async function useSession(visitor: ServiceBusClient): Promise<void> {
  const sessionId = `s${Math.floor(Math.random() * 1_000_000)}`
  await visitor.createSender(SESSIONS).sendMessages([{ body: 1, sessionId }])
  const session = await visitor.acceptSession(SESSIONS, sessionId)
  for (const message of await session.receiveMessages(1, { maxWaitTimeInMs: 1_000 })) {
    await session.completeMessage(message)
  }
  if (Math.random() < 0.5) await session.close()
}

/** Ends its connection in the middle of something, without a word. */
async function breakOff(): Promise<void> {
  const connection = rhea.create_container().connect({
    host: '127.0.0.1',
    port: task.port,
    username: USER,
    password: EMULATOR_ACCESS_KEY,
    reconnect: false,
  })
  connection.on('disconnected', () => {})
  await once(connection, 'connection_open')
  const ways = [sendAndLeave, receiveAndLeave, waitForSessionAndLeave]
  await ways[Math.floor(Math.random() * ways.length)]?.(connection)
  await sleep(Math.random() * 20)
  // rhea's declarations leave it out.
  const socket: unknown = Reflect.get(connection, 'socket')
  if (socket instanceof Socket) socket.destroy()
  counts.breaks++
}

async function sendAndLeave(connection: Connection): Promise<void> {
  const sender = connection.open_sender(VISITED)
  await once(sender, 'sendable')
  for (let count = 0; count < 5; count++) sender.send({ body: 'x'.repeat(200) })
}

async function receiveAndLeave(connection: Connection): Promise<void> {
  const receiver = connection.open_receiver({
    source: VISITED,
    credit_window: 0,
    autoaccept: false,
    rcv_settle_mode: 1,
  })
  receiver.on('message', ({ delivery }: EventContext) => {
    if (Math.random() < 0.5) delivery?.accept()
  })
  await once(receiver, 'receiver_open')
  receiver.add_credit(1 + Math.floor(Math.random() * 5))
}

/** Nobody answers an attach that waits for a session that is free. */
function waitForSessionAndLeave(connection: Connection): Promise<void> {
  connection.open_receiver({
    source: { address: SESSIONS, filter: { 'com.microsoft:session-filter': null } },
    credit_window: 0,
  })
  return Promise.resolve()
}

async function tearFrame(): Promise<void> {
  const socket = connect({ port: task.port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.resume().write(TORN.subarray(0, 1 + Math.floor(Math.random() * TORN.length)))
  await sleep(Math.random() * 20)
  if (Math.random() < 0.5) socket.resetAndDestroy()
  else socket.destroy()
  counts.tornFrames++
}
