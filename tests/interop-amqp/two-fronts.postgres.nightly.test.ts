import { ServiceBusClient } from '@azure/service-bus'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FrontMessage } from '../crash/amqp/messages.ts'
import { CampaignProcess } from '../campaign/campaign-process.ts'
import { openMessagingStore } from '../crash/messaging/messaging-store.ts'

/* Two processes with a front each, on one PostgreSQL: as two machines of one installation. */

const QUEUE = 'orders'
const CARTS = 'carts'
/** Long enough that it is still held when the other front is asked for it. */
const LOCK_DURATION = 'PT4S'
const TEST_MS = 60_000

let server: SharedPostgres
beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(() => server[Symbol.asyncDispose]())

let here: Front
let there: Front
const fronts: CampaignProcess<FrontMessage>[] = []
const clients: ServiceBusClient[] = []

interface Front {
  readonly process: CampaignProcess<FrontMessage>
  readonly client: ServiceBusClient
}

beforeEach(async () => {
  const place = { kind: 'postgres', url: await server.createDatabase() } as const
  {
    await using store = await openMessagingStore(place)
    await store.broker.createQueue(QUEUE, { lockDuration: LOCK_DURATION })
    await store.broker.createQueue(CARTS, { lockDuration: LOCK_DURATION, requiresSession: true })
  }
  here = await startFront(place.url)
  there = await startFront(place.url)
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const front of fronts.splice(0)) await front.end()
})

async function startFront(url: string): Promise<Front> {
  const task = { place: { kind: 'postgres', url }, port: 0 }
  const front = new CampaignProcess<FrontMessage>(
    new URL('../crash/amqp/front.child.ts', import.meta.url),
    task,
  )
  fronts.push(front)
  const { port } = await front.receive('listening')
  const client = new ServiceBusClient(
    `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=test;` +
      `SharedAccessKey=${EMULATOR_ACCESS_KEY};UseDevelopmentEmulator=true;`,
    { retryOptions: { maxRetries: 0, timeoutInMs: 30_000 } },
  )
  clients.push(client)
  return { process: front, client }
}

test(
  'a receiver that waits at one front gets what is sent to the other',
  async () => {
    const receiver = there.client.createReceiver(QUEUE)
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 30_000 })
    await here.client.createSender(QUEUE).sendMessages({ body: 'hello' })
    const [message] = await waiting
    expect(message?.body).toBe('hello')
    if (message !== undefined) await receiver.completeMessage(message)
    expect(await here.client.createReceiver(QUEUE).peekMessages(1)).toEqual([])
  },
  TEST_MS,
)

test(
  'SET-16 a message that a front held when it was killed comes again at the other when its lock ends',
  async () => {
    await here.client.createSender(QUEUE).sendMessages({ body: 'held' })
    const [held] = await here.client.createReceiver(QUEUE).receiveMessages(1)
    expect(held?.body).toBe('held')
    const receiver = there.client.createReceiver(QUEUE)
    expect(await receiver.receiveMessages(1, { maxWaitTimeInMs: 500 })).toEqual([])
    await here.process.kill()
    const [again] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 30_000 })
    expect([again?.body, again?.deliveryCount]).toEqual(['held', 1])
    if (again !== undefined) await receiver.completeMessage(again)
  },
  TEST_MS,
)

test(
  'SES-15 a session that a front held when it was killed is free at the other when its lock ends, with its state and order',
  async () => {
    const sender = there.client.createSender(CARTS)
    await sender.sendMessages([
      { body: 'first', sessionId: 'c1' },
      { body: 'second', sessionId: 'c1' },
    ])
    const held = await here.client.acceptSession(CARTS, 'c1')
    await held.setSessionState('half done')
    const [first] = await held.receiveMessages(1)
    expect(first?.body).toBe('first')
    await expect(there.client.acceptSession(CARTS, 'c1')).rejects.toMatchObject({
      code: 'SessionCannotBeLocked',
    })
    await here.process.kill()
    const session = await there.client.acceptNextSession(CARTS)
    expect(session.sessionId).toBe('c1')
    expect(await session.getSessionState()).toBe('half done')
    const messages = await session.receiveMessages(2, { maxWaitTimeInMs: 5_000 })
    expect(messages.map(({ body }) => String(body))).toEqual(['first', 'second'])
    await session.close()
  },
  TEST_MS,
)
