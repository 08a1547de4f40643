import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  ChangeFeedProcessorHost,
  forwardChanges,
  MemoryLeaseStore,
  openMessaging,
  type Change,
  type ChangeFeedProcessorHostOptions,
  type Collection,
  type DeadLetteredMessage,
  type DocumentBody,
  type MessageBroker,
  type ObserverContext,
  type Store,
} from './index.ts'

interface Order extends DocumentBody {
  readonly customer: string
  readonly total?: number
}

let clock: SimulatedClock
let store: Store
let broker: MessageBroker
let hosts: { unregisterObservers(): Promise<unknown> }[]
let leases: MemoryLeaseStore

beforeEach(async () => {
  clock = new SimulatedClock({ settleTurns: 5 })
  store = await openMemoryStore({ clock, maintenance: 'manual' })
  await store.createDatabaseIfNotExists('shop')
  broker = openMessaging(store.database('shop'), { clock })
  leases = new MemoryLeaseStore({ clock })
  hosts = []
})

afterEach(async () => {
  for (const host of hosts) await inTime(host.unregisterObservers())
  await broker.close()
  await store.close()
})

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  let isDone = false
  const watched = work.finally(() => (isDone = true))
  watched.catch(() => {})
  await until(() => isDone)
  return watched
}

async function until(isTrue: () => boolean): Promise<void> {
  expect(await clock.advanceUntil(isTrue, { limitMs: 300_000, stepMs: 10 })).toBe(true)
}

type Observe<T extends DocumentBody> = (
  context: ObserverContext,
  changes: readonly Change<T>[],
) => void

async function started<T extends DocumentBody>(
  options: Pick<ChangeFeedProcessorHostOptions<T>, 'feed'> &
    Partial<ChangeFeedProcessorHostOptions<T>>,
  observe: Observe<T>,
): Promise<ChangeFeedProcessorHost<T>> {
  const host = new ChangeFeedProcessorHost<T>({
    group: 'mailers',
    leases,
    feedOptions: { startFromBeginning: true },
    logger: false,
    clock,
    ...options,
  })
  hosts.push(host)
  await inTime(host.registerObserver(observe))
  return host
}

/** Id of the document, reason and description of each dead letter. */
async function dead(queue: string): Promise<readonly string[]> {
  await using receiver = broker.createReceiver<{ change: { id: string } }>(queue, {
    subQueueType: 'deadLetter',
  })
  const letters = await receiver.peekMessages(100)
  return letters
    .map(({ body, deadLetterReason: reason, deadLetterErrorDescription: description }) =>
      [body.change.id, reason, description].join(' | '),
    )
    .toSorted()
}

describe('a queue as dead-letter sink of hosts', () => {
  let orders: Collection<Order>
  let seen: string[]
  let failed: string[]
  let isBroken: boolean
  const hostOptions = {
    failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
    redrivePollMs: 1_000,
  } as const

  beforeEach(async () => {
    const database = store.database('shop')
    const options = { id: 'orders', partitionKey: '/customer', partitionCount: 2 }
    orders = await database.createCollectionIfNotExists<Order>(options)
    await broker.createQueue('letters', { requiresSession: true, requiresDuplicateDetection: true })
    for (let n = 0; n < 8; n += 1) {
      const total = n % 4 === 3 ? {} : { total: n }
      await orders.upsert({ id: `o${n}`, customer: `c${n % 5}`, ...total })
    }
    seen = []
    failed = []
    isBroken = true
  })

  const observe: Observe<Order> = ({ redriven }, changes) => {
    for (const change of changes) {
      if (change.kind !== 'document') continue
      const { id, total } = change.document
      const name = redriven ? `${id} redriven` : id
      if (total === undefined && isBroken) {
        failed.push(name)
        throw new TypeError(`${id} has no total`)
      }
      seen.push(name)
    }
  }
  const start = (hostName: string): Promise<ChangeFeedProcessorHost<Order>> => {
    const deadLetters = broker.queueDeadLetters('letters')
    return started<Order>({ hostName, feed: orders, deadLetters, hostOptions }, observe)
  }

  test('PH-7 keeps what fails with its error; redrive delivers it again, and success removes it', async () => {
    await start('one')
    await start('two')
    await until(() => new Set(seen).size === 6)
    await clock.advance(5_000)
    const letters = ['o3 | TypeError | o3 has no total', 'o7 | TypeError | o7 has no total']
    expect(await dead('letters')).toEqual(letters)
    // Still broken: they return.
    failed.length = 0
    expect(await inTime(broker.redriveDeadLetters('letters'))).toHaveLength(2)
    await clock.advance(20_000)
    expect(await dead('letters')).toEqual(letters)
    expect(failed).toContain('o3 redriven')
    expect(seen.filter((one) => one.endsWith('redriven'))).toEqual([])

    isBroken = false
    expect(await inTime(broker.redriveDeadLetters('letters'))).toHaveLength(2)
    await clock.advance(20_000)
    expect(seen.filter((one) => one.endsWith('redriven')).toSorted()).toEqual([
      'o3 redriven',
      'o7 redriven',
    ])
    const { activeMessageCount, deadLetterMessageCount } =
      await broker.getQueueRuntimeProperties('letters')
    expect([activeMessageCount, deadLetterMessageCount]).toEqual([0, 0])
  })
})

describe('the dead letters of a queue, observed under hosts', () => {
  let seen: string[]

  beforeEach(async () => {
    await broker.createQueue('jobs', { deadLetteringOnMessageExpiration: true })
    seen = []
  })

  /** Messages that expire one second apart, while somebody listens. */
  async function expire(...names: readonly string[]): Promise<void> {
    await using sender = broker.createSender('jobs')
    await using listener = broker.createReceiver('jobs')
    // It is attached from now on, and waits for nothing.
    await inTime(listener.receiveMessages(1, { maxWaitTimeInMs: 0 }))
    const messages = names.map((body, n) => ({ body, timeToLive: (n + 1) * 1000 }))
    await sender.sendMessages(messages)
    await clock.advance(names.length * 1000 + 500)
  }

  const start = (hostName: string): Promise<ChangeFeedProcessorHost<DeadLetteredMessage>> =>
    started<DeadLetteredMessage>(
      { hostName, feed: broker.deadLetterFeed('jobs') },
      ({ hostName: host }, changes) => {
        for (const change of changes) {
          if (change.kind !== 'document') continue
          const { message, reason } = change.document
          seen.push(`${host} ${String(change.lsn)} ${JSON.stringify(message.body)} ${reason}`)
        }
      },
    )
  const line = (host: string, lsn: number, name: string): string =>
    `${host} ${lsn} "${name}" TTLExpiredException`

  test('EXP-16 CF-8 expired messages come in their order, and after a restart where it was', async () => {
    await expire('a', 'b')
    const first = await start('one')
    await until(() => seen.length === 2)
    await expire('c', 'd', 'e')
    await until(() => seen.length === 5)
    await inTime(first.unregisterObservers())
    await expire('f')
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'].map((name, n) => line('one', n + 1, name)))

    seen = []
    await start('one')
    await until(() => seen.length > 0)
    await clock.advance(5_000)
    expect(seen).toEqual([line('one', 6, 'f')])
    // Observing takes nothing away.
    const { deadLetterMessageCount } = await broker.getQueueRuntimeProperties('jobs')
    expect(deadLetterMessageCount).toBe(6)
  })

  test('LE-1 of two hosts one has the feed, and the other one goes on with it', async () => {
    const first = await start('one')
    await start('two')
    await expire('a', 'b')
    await until(() => seen.length === 2)
    const [owner = ''] = (seen[0] ?? '').split(' ')
    expect(seen).toEqual([line(owner, 1, 'a'), line(owner, 2, 'b')])
    const stopped = owner === 'one' ? first : hosts[1]
    if (stopped !== undefined) await inTime(stopped.unregisterObservers())
    await expire('c')
    await until(() => seen.length === 3)
    expect(seen[2]).toBe(line(owner === 'one' ? 'two' : 'one', 3, 'c'))
  })

  test('a change feed of dead letters can be forwarded like any other', async () => {
    await broker.createQueue('alarms', { requiresDuplicateDetection: true })
    await expire('a', 'b')
    const forwarding = forwardChanges({
      feed: broker.deadLetterFeed<string>('jobs'),
      to: broker.createSender('alarms'),
      leases,
      map: (change) =>
        change.kind === 'document' ? { body: change.document.message.body } : undefined,
      stopWhenCaughtUp: true,
      clock,
    })
    await inTime(forwarding.start())
    await inTime(forwarding.finished)
    await using receiver = broker.createReceiver('alarms')
    expect((await receiver.peekMessages(10)).map(({ body }) => body)).toEqual(['a', 'b'])
  })
})
