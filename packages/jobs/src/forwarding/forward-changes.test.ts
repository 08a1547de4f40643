import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DeadLetter, DocumentBody, LeaseStore } from '@tidemark/contracts'
import {
  openMessaging,
  type Message,
  type MessageBroker,
  type MessageSender,
  type QueueOptions,
  type ReceivedMessage,
} from '@tidemark/messaging'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { GatedLeaseStore, openMemoryStore, ProcessGate, SimulatedClock } from '@tidemark/testing'
import { inTime } from '../in-time.fixture.ts'
import type { ForwardEvent } from './forward-events.ts'
import { forwardChanges, type ChangeForwarding } from './forward-changes.ts'
import type { ForwardOptions } from './forward-options.ts'

interface Order extends DocumentBody {
  readonly customer: string | number
  readonly total?: number
  readonly text?: string
  readonly ttl?: number
}

const DETECTING: QueueOptions = {
  requiresDuplicateDetection: true,
  duplicateDetectionHistoryTimeWindow: 'P1D',
}

let clock: SimulatedClock
let store: Store
let database: Database
let source: Collection<Order>
let broker: MessageBroker
let leases: LeaseStore
let running: ChangeForwarding[]
let events: ForwardEvent[]

beforeEach(async () => {
  clock = new SimulatedClock()
  store = await openMemoryStore({ clock, maintenance: 'manual' })
  database = store.database('shop')
  source = await createOrders()
  broker = openMessaging(database, { clock })
  leases = new MemoryLeaseStore({ clock })
  running = []
  events = []
})

afterEach(async () => {
  for (const one of running) {
    await inTime(
      clock,
      one.stop().catch(() => {}),
    )
  }
  await broker.close()
  await store.close()
})

function createOrders(): Promise<Collection<Order>> {
  return database.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
    partitionCount: 2,
    defaultTtl: -1,
    pendingDeletes: { retentionSeconds: 60 },
    allVersions: { retentionSeconds: 3600 },
  })
}

async function started(options: Partial<ForwardOptions<Order>> = {}): Promise<ChangeForwarding> {
  const made = forwardChanges<Order>({
    feed: source,
    to: broker.createSender('queue'),
    leases,
    hostName: 'one',
    clock,
    onEvent: (event) => events.push(event),
    ...options,
  })
  running.push(made)
  await inTime(clock, made.start())
  return made
}

/** Forwards everything that is there, with a worker of its own. */
async function forwarded(options: Partial<ForwardOptions<Order>> = {}): Promise<void> {
  const made = await started({ stopWhenCaughtUp: true, ...options })
  await inTime(clock, made.finished)
}

async function messages(): Promise<readonly ReceivedMessage<Order | undefined>[]> {
  await using receiver = broker.createReceiver<Order | undefined>('queue')
  return await receiver.peekMessages(10_000)
}

/** Of the documents in the queue, in its order. */
async function ids(): Promise<readonly string[]> {
  return (await messages()).map(({ body }) => body?.id ?? '')
}

async function write(count: number, first = 0): Promise<readonly string[]> {
  const written = Array.from({ length: count }, (_, n) => `o${String(first + n).padStart(3, '0')}`)
  for (const [n, id] of written.entries()) {
    await source.upsert({ id, customer: `c${n % 5}`, total: n })
  }
  return written
}

/** A sender that does something of its own before, or after, the entity has the messages. It heeds no signal. */
function senderWith(
  after: () => Promise<void> | void,
  before: () => Promise<void> | void = () => {},
): MessageSender {
  const sender = broker.createSender('queue')
  return new Proxy(sender, {
    get(target, name) {
      if (name === 'entityPath') return target.entityPath
      if (name === 'createMessageBatch') return () => target.createMessageBatch()
      return async (...[given]: Parameters<MessageSender['sendMessages']>): Promise<void> => {
        await before()
        await target.sendMessages(given)
        await after()
      }
    },
  })
}

describe('forwardChanges: the message of a change', () => {
  test('has the document, an id of its own, the key as session, and says what it is of', async () => {
    await broker.createQueue('queue', DETECTING)
    await source.upsert({ id: 'a', customer: 'ada', total: 3 })
    await forwarded()
    const [message] = await messages()
    expect(message).toMatchObject({
      body: { id: 'a', customer: 'ada', total: 3 },
      messageId: expect.stringMatching(/^[0-9a-f]{64}$/),
      sessionId: 'ada',
      partitionKey: 'ada',
      subject: 'document',
      applicationProperties: {
        collection: 'shop/orders',
        kind: 'document',
        lsn: Reflect.get(message?.body ?? {}, '_lsn') as unknown,
        id: 'a',
      },
    })
    expect(message?.applicationProperties?.['lsn']).toBeGreaterThan(0)
  })

  test('is chosen by filter and made by map: one, several, or none', async () => {
    await broker.createQueue('queue', DETECTING)
    await write(6)
    await forwarded({
      filter: ({ id }) => id !== 'o001',
      map: (change): Message | readonly Message[] | undefined => {
        if (change.id === 'o002') return undefined
        if (change.id === 'o003') return [{ body: 1 }, { body: 2, subject: 'second' }, { body: 3 }]
        if (change.id === 'o004') return { body: 4, messageId: 'mine', partitionKey: 'k' }
        return { body: 0, applicationProperties: { kind: 'paid' } }
      },
    })
    const all = await messages()
    expect(
      all
        .map(({ body }) => JSON.stringify(body))
        .toSorted()
        .join(''),
    ).toBe('001234')
    const parts = all.filter(({ applicationProperties: of }) => of?.['id'] === 'o003')
    const first = parts[0]?.messageId
    expect(parts.map(({ messageId }) => messageId)).toEqual([first, `${first}-1`, `${first}-2`])
    expect(parts.map(({ subject }) => subject)).toEqual(['document', 'second', 'document'])
    expect(all.find(({ messageId }) => messageId === 'mine')).toMatchObject({ sessionId: 'k' })
    expect(all.find(({ body }) => Number(body) === 0)?.applicationProperties).toMatchObject({
      collection: 'shop/orders',
      kind: 'paid',
    })
  })

  test('of a key that is no text, or too long for a session: another text, the same for the same key', async () => {
    await broker.createQueue('queue', { ...DETECTING, requiresSession: true })
    const long = 'x'.repeat(129)
    for (const customer of [7, '7', '', long, 'x'.repeat(128)]) {
      for (const id of ['a', 'b']) await source.upsert({ id, customer })
    }
    await forwarded()
    const sessions = new Map<unknown, Set<string | undefined>>()
    for (const { body, sessionId } of await messages()) {
      const known = sessions.get(body?.customer) ?? new Set()
      sessions.set(body?.customer, known.add(sessionId))
    }
    expect(sessions.get(7)).toEqual(new Set(['[7]']))
    expect(sessions.get('7')).toEqual(new Set(['7']))
    expect(sessions.get('')).toEqual(new Set(['[""]']))
    expect(sessions.get('x'.repeat(128))).toEqual(new Set(['x'.repeat(128)]))
    expect([...(sessions.get(long) ?? [])]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
  })

  test('TTL-13 of an expiry is a pendingDelete with the last version', async () => {
    await broker.createQueue('queue', DETECTING)
    await source.upsert({ id: 'a', customer: 'ada', total: 3, ttl: 1 })
    await clock.advance(1_000)
    await store.runMaintenance()
    await forwarded()
    expect(await messages()).toEqual([
      expect.objectContaining({
        subject: 'pendingDelete',
        body: expect.objectContaining({ id: 'a', total: 3 }),
      }),
    ])
  })

  test('CF-11 of the log of all versions says what was done, also for a delete', async () => {
    await broker.createQueue('queue', { ...DETECTING, requiresSession: true })
    const forwarding = await started({ feedOptions: { mode: 'allVersions' } })
    await source.create({ id: 'a', customer: 'ada', total: 1 })
    await source.upsert({ id: 'a', customer: 'ada', total: 2 })
    await source.delete('a', 'ada')
    await source.create({ id: 'b', customer: 'ada', ttl: 1 })
    await clock.advance(1_000)
    await store.runMaintenance()
    await inTime(clock, forwarding.caughtUp())
    const all = await messages()
    expect(all.map(({ subject }) => subject)).toEqual([
      'create',
      'replace',
      'delete',
      'create',
      'expire',
    ])
    expect(all.map(({ body }) => body?.total)).toEqual([1, 2, undefined, undefined, undefined])
  })
})

describe('forwardChanges: at least once, and in order', () => {
  /** A worker that is killed when the entity has its first batch, and one that comes after it. */
  async function killedInBetween(): Promise<{ readonly written: readonly string[]; sent: number }> {
    const written = await write(12)
    const never = new Promise<void>(() => {})
    let struck = 0
    const to = senderWith(() => {
      struck += 1
      return never
    })
    const hostOptions = { shutdownTimeoutMs: 100, abortGraceMs: 100 }
    const killed = await started({ to, hostOptions })
    await clock.advance(1_000)
    await inTime(clock, killed.stop())
    // The fault has happened: the messages are there, and no position is.
    expect(struck).toBeGreaterThan(0)
    expect((await messages()).length).toBeGreaterThan(0)
    expect(events.filter(({ kind }) => kind === 'forwarded')).toEqual([])
    const next = await started({ hostName: 'two' })
    await inTime(clock, next.caughtUp())
    const { messages: sent } = await next.progress()
    return { written, sent }
  }

  test('PH-4 what a killed worker sent is sent again, and the entity recognizes it', async () => {
    await broker.createQueue('queue', DETECTING)
    const { written, sent } = await killedInBetween()
    // Everything was sent once more.
    expect(sent).toBe(12)
    expect((await ids()).toSorted()).toEqual(written)
  })

  test('PH-4 an entity without duplicate detection gets it twice, and loses nothing', async () => {
    await broker.createQueue('queue')
    const { written } = await killedInBetween()
    const all = await ids()
    expect([...new Set(all)].toSorted()).toEqual(written)
    expect(all.length).toBeGreaterThan(12)
  })

  test('hosts that share and hand over ranges keep the order of each key', async () => {
    await broker.createQueue('queue', { ...DETECTING, requiresSession: true })
    const feedOptions = { mode: 'allVersions', maxItemCount: 3 } as const
    const first = await started({ feedOptions })
    for (let round = 0; round < 4; round += 1) await write(10)
    const second = await started({ hostName: 'two', feedOptions })
    await clock.advance(10_000)
    for (let round = 0; round < 4; round += 1) await write(10)
    const [, range] = await source.readFeedRanges()
    await source.split(range?.id ?? '')
    await inTime(clock, second.caughtUp())
    expect((await first.progress()).messages).toBeGreaterThan(0)
    expect((await second.progress()).messages).toBeGreaterThan(0)
    await inTime(clock, first.stop())
    for (let round = 0; round < 2; round += 1) await write(10)
    await inTime(clock, second.caughtUp())
    const all = await messages()
    expect(all).toHaveLength(100)
    const last = new Map<string | undefined, number>()
    for (const { sessionId, applicationProperties } of all) {
      const lsn = Number(applicationProperties?.['lsn'])
      expect(lsn).toBeGreaterThan(last.get(sessionId) ?? 0)
      last.set(sessionId, lsn)
    }
    expect(last.size).toBe(5)
  })

  test('LE-11 a worker that wakes after it lost its range sends nothing twice, and nothing out of order', async () => {
    await broker.createQueue('queue', { ...DETECTING, requiresSession: true })
    await write(10)
    const gate = new ProcessGate()
    const sleep = Promise.withResolvers<void>()
    let struck = 0
    let woken = 0
    const to = senderWith(
      () => void (woken += 1),
      async () => {
        struck += 1
        gate.freeze()
        await sleep.promise
      },
    )
    await started({ to, leases: new GatedLeaseStore(leases, gate) })
    await clock.advance(1_000)
    // It is about to send, and it does not renew its lease any more.
    expect(struck).toBeGreaterThan(0)
    expect(await messages()).toEqual([])
    const second = await started({ hostName: 'two' })
    await inTime(clock, second.caughtUp())
    await write(10)
    await inTime(clock, second.caughtUp())
    const before = await messages()
    gate.thaw()
    sleep.resolve()
    await clock.advance(20_000)
    expect(woken).toBe(struck)
    expect(await messages()).toEqual(before)
    expect(before).toHaveLength(20)
  })

  test('ST-6 a collection that was created again has other messages, even with the same LSNs', async () => {
    await broker.createQueue('queue', DETECTING)
    await source.upsert({ id: 'a', customer: 'ada' })
    await forwarded()
    await database.deleteCollection('orders')
    source = await createOrders()
    await source.upsert({ id: 'a', customer: 'ada' })
    await forwarded({ group: 'other' })
    const [before, after] = await messages()
    expect(after?.applicationProperties).toEqual(before?.applicationProperties)
    expect(after?.messageId).not.toBe(before?.messageId)
  })
})

describe('forwardChanges: sizes and failures', () => {
  test('a batch is one send, or as few as the size of the entity allows', async () => {
    await broker.createQueue('queue', { ...DETECTING, maxMessageSizeInKilobytes: 4 })
    let sends = 0
    const to = senderWith(() => void (sends += 1))
    for (let n = 0; n < 10; n += 1) {
      await source.upsert({ id: `o${n}`, customer: 'ada', text: 'x'.repeat(1_000) })
    }
    await forwarded({ to })
    expect(await ids()).toEqual(Array.from({ length: 10 }, (_, n) => `o${n}`))
    expect(sends).toBeGreaterThanOrEqual(4)
    expect(sends).toBeLessThan(10)
    expect(events.filter(({ kind }) => kind === 'forwarded')).toEqual([
      expect.objectContaining({ changes: 10, messages: 10 }),
    ])
  })

  test('PH-7 a change that cannot be sent is isolated, and no other one suffers', async () => {
    await broker.createQueue('queue', { ...DETECTING, maxMessageSizeInKilobytes: 4 })
    const letters: DeadLetter<Order>[] = []
    for (let n = 0; n < 8; n += 1) {
      const text = 'x'.repeat(n === 5 ? 8_000 : 10)
      await source.upsert({ id: `o${n}`, customer: 'ada', text })
    }
    await forwarded({
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 2 } },
      deadLetters: (letter) => void letters.push(letter),
      logger: false,
    })
    expect(letters.map(({ change, error }) => [change.id, error.code])).toEqual([
      ['o5', 'ERR_MESSAGE_SIZE_EXCEEDED'],
    ])
    expect(await ids()).toEqual(['o0', 'o1', 'o2', 'o3', 'o4', 'o6', 'o7'])
  })

  test('a change that cannot be sent holds its range up until its document is mended', async () => {
    await broker.createQueue('queue', DETECTING)
    const failed = Promise.withResolvers<void>()
    const made = await started({
      map(change) {
        if (change.kind === 'document' && change.document.total === -1) throw new Error('bad total')
        return { body: { id: change.id } }
      },
      onEvent: ({ kind }) => kind === 'failure' && failed.resolve(),
      logger: false,
    })
    await source.upsert({ id: 'a', customer: 'ada', total: -1 })
    await inTime(clock, failed.promise)
    await source.upsert({ id: 'a', customer: 'ada', total: 2 })
    await inTime(clock, made.caughtUp())
    expect(await ids()).toEqual(['a'])
  })

  test('an entity that takes nothing is asked again until it does', async () => {
    await broker.createQueue('queue', { ...DETECTING, status: 'SendDisabled' })
    const written = await write(5)
    const forwarding = await started()
    await clock.advance(5_000)
    const failures = events.filter((event) => event.kind === 'failure' && event.what === 'batch')
    expect(failures.length).toBeGreaterThan(1)
    await broker.updateQueue('queue', { status: 'Active' })
    await inTime(clock, forwarding.caughtUp())
    expect((await ids()).toSorted()).toEqual(written)
  })

  test('its signal stops it, and nothing of it runs then', async () => {
    await broker.createQueue('queue')
    const controller = new AbortController()
    const made = await started({ signal: controller.signal })
    controller.abort()
    await inTime(clock, made.finished)
    await expect(made.caughtUp()).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
  })
})
