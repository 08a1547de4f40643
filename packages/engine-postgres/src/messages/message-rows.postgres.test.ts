import { systemClock } from '@tidemark/contracts'
import {
  ask,
  type EntityDefinition,
  type EntityRecord,
  type MessageRow,
  type NewMessageRow,
  type Procedure,
  type RowRequests,
} from '@tidemark/store/messages'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresEngine } from '../postgres-engine.ts'
import { DEFINITION as PLAIN, LOCK, numbersOf } from './messages-under-test.fixture.ts'
import { SETTINGS } from './message-opening.ts'
import { PostgresMessages } from './postgres-messages.ts'
import { TAKE_STATEMENTS } from './take-messages.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(() => server[Symbol.asyncDispose]())

/** Locks may end at once. */
const DEFINITION: EntityDefinition = {
  ...PLAIN,
  settings: { ...PLAIN.settings, lockDurationMs: 1 },
}
const TIME = { storeMs: 1_000, lockMs: 1_000 }

interface Opened extends AsyncDisposable {
  readonly url: string
  readonly messages: PostgresMessages
  readonly queue: EntityRecord
  readonly check: () => Promise<readonly string[]>
}

async function open(at?: string): Promise<Omit<Opened, 'queue'>> {
  const url = at ?? (await server.createDatabase())
  const engine = await openPostgresEngine({ url })
  if (at === undefined) await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  const { messages } = database
  if (!(messages instanceof PostgresMessages)) throw new Error('other messages')
  return {
    url,
    messages,
    // Entities are made here without what commands make with them.
    check: async () =>
      (await database.check()).filter((problem) => !problem.endsWith('has no dead-letter queue')),
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

async function openQueue(): Promise<Opened> {
  const opened = await open()
  const [queue] = await create(opened.messages, ['orders'])
  return { ...opened, queue }
}

async function create(
  messages: PostgresMessages,
  paths: readonly string[],
): Promise<[EntityRecord, ...EntityRecord[]]> {
  const made = await request(
    messages,
    'createEntities',
    paths.map((path) => ({ ...DEFINITION, kind: 'queue', path, parent: undefined }) as const),
    TIME,
  )
  if ('exists' in made || made[0] === undefined) throw new Error('not created')
  return [made[0], ...made.slice(1)]
}

/** One request in a transaction of its own. */
function request<Kind extends keyof RowRequests>(
  messages: PostgresMessages,
  kind: Kind,
  ...values: Parameters<RowRequests[Kind]>
): Promise<ReturnType<RowRequests[Kind]>> {
  return messages.transact(() => ask(kind, ...values))
}

function message(entity: number, number: number, rest: Partial<NewMessageRow> = {}): NewMessageRow {
  return {
    entity,
    number,
    state: 0,
    session: undefined,
    enqueuedMs: 1_000,
    ttlMs: undefined,
    expiresMs: undefined,
    dueMs: undefined,
    lock: undefined,
    deliveries: 0,
    firstNumber: number,
    hops: 0,
    deadLetterSource: undefined,
    changes: undefined,
    bytes: 10,
    head: `{"messageId":"${number}"}`,
    body: new Uint8Array([number, 0, 255]),
    ...rest,
  }
}

/** Gives the next numbers, as every sender does. */
function* send(entity: number, rows: readonly Partial<NewMessageRow>[]): Procedure<void> {
  const place = yield* ask('readPlace', entity, { hold: true })
  if (place === undefined) throw new Error('gone')
  yield* ask(
    'insert',
    rows.map((row, index) => message(entity, place.next + index, row)),
  )
  yield* ask('setNext', entity, place.next + rows.length)
  yield* ask('addBytes', entity, 10 * rows.length)
}

const TAKE = {
  session: undefined,
  afterNumber: 0,
  notExpiredAtMs: undefined,
  max: 100,
  maxBytes: 1_000_000,
  deletes: false,
  locks: [LOCK],
  dueMs: 5_000,
} as const

test('an entity is found by its path in any case, once', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  expect(await request(messages, 'findEntity', 'ORDERS')).toEqual(queue)
  expect(await request(messages, 'findEntity', 'other')).toBeUndefined()
  const again = await request(
    messages,
    'createEntities',
    [
      { ...DEFINITION, kind: 'topic', path: 'news', parent: undefined },
      { ...DEFINITION, kind: 'queue', path: 'Orders', parent: undefined },
    ],
    TIME,
  )
  expect(again).toEqual({ exists: 'Orders' })
  expect(await request(messages, 'findEntity', 'news')).toBeUndefined()
  expect((await messages.readCatalog()).entities).toEqual([queue])
  expect(await opened.check()).toEqual([])
})

test('a changed entity has the next version, and its children know their parent', async () => {
  await using opened = await open()
  const { messages } = opened
  const made = await request(
    messages,
    'createEntities',
    [
      { ...DEFINITION, kind: 'topic', path: 'news', parent: undefined },
      { ...DEFINITION, kind: 'subscription', path: 'news/Subscriptions/all', parent: { at: 0 } },
    ],
    TIME,
  )
  if ('exists' in made) throw new Error('exists')
  const [topic, subscription] = made
  expect(subscription?.parent).toBe(topic?.number)
  expect(await request(messages, 'childrenOf', topic?.number ?? 0)).toEqual([subscription])
  const definition = {
    ...DEFINITION,
    settings: { ...DEFINITION.settings, forwardTo: 'Target' },
  }
  const changed = await request(messages, 'changeEntity', subscription?.number ?? 0, definition, 7)
  expect(changed).toEqual({ ...subscription, ...definition, version: 2 })
  expect(await request(messages, 'isForwardedTo', 'tARGET')).toBe(true)
  expect(await request(messages, 'isForwardedTo', 'news')).toBe(false)
  await request(messages, 'raiseVersion', topic?.number ?? 0)
  const place = await request(messages, 'readPlace', topic?.number ?? 0, { hold: false })
  expect(place).toMatchObject({ next: 1, record: { version: 2 }, clock: TIME })
})

test('what was sent is taken in the order of numbers, with its body, and locked', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  const body = new Uint8Array(5_000).map((_, index) => index % 256)
  await messages.transact(() => send(queue.number, [{}, { body, changes: '{}', ttlMs: 5 }, {}]))
  const taken = await request(messages, 'take', { ...TAKE, entity: queue.number, max: 2 })
  expect(taken).toEqual([
    {
      ...message(queue.number, 1),
      id: 1,
      lock: LOCK,
      dueMs: 5_000,
      body: new Uint8Array([1, 0, 255]),
    },
    {
      ...message(queue.number, 2),
      id: 2,
      lock: LOCK,
      dueMs: 5_000,
      changes: '{}',
      ttlMs: 5,
      body,
    },
  ])
  expect(numbersOf(await request(messages, 'take', { ...TAKE, entity: queue.number }))).toEqual([3])
  expect(await request(messages, 'take', { ...TAKE, entity: queue.number })).toEqual([])
  expect(await request(messages, 'readPlace', queue.number, { hold: true })).toMatchObject({
    next: 4,
    dueMs: 5_000,
    expiresMs: undefined,
  })
  expect(await request(messages, 'readBytes', queue.number)).toBe(30)
  expect(await opened.check()).toEqual([])
})

test('each message that is taken gets the lock at its place, and those behind the end the last one', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  await messages.transact(() => send(queue.number, [{}, {}, {}]))
  const locks = ['1'.repeat(20), '2'.repeat(20)]
  const taken = await request(messages, 'take', { ...TAKE, entity: queue.number, locks })
  expect(taken.map(({ lock }) => lock)).toEqual([locks[0], locks[1], locks[1]])
  const stored = await request(messages, 'rowsByNumber', queue.number, [1, 2, 3])
  expect(stored.map(({ lock }) => lock)).toEqual([locks[0], locks[1], locks[1]])
})

test('a take stops before its bytes, leaves out what has expired, and may only read or delete', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  const { number: entity } = queue
  await messages.transact(() => send(entity, [{ expiresMs: 50 }, { bytes: 100 }, {}, {}]))
  const read = { ...TAKE, entity, locks: [], dueMs: undefined, notExpiredAtMs: 50 }
  expect(numbersOf(await request(messages, 'take', { ...read, maxBytes: 1 }))).toEqual([2])
  expect(numbersOf(await request(messages, 'take', { ...read, maxBytes: 110 }))).toEqual([2, 3])
  expect(numbersOf(await request(messages, 'take', { ...read, maxBytes: 119 }))).toEqual([2, 3])
  expect(numbersOf(await request(messages, 'take', { ...read, afterNumber: 2 }))).toEqual([3, 4])
  const deleted = await request(messages, 'take', { ...read, deletes: true, max: 2 })
  expect(deleted.map(({ head }) => head)).toEqual(['{"messageId":"2"}', '{"messageId":"3"}'])
  const left = { entity, session: undefined, fromNumber: 1, max: 10, maxBytes: 1_000 }
  expect(numbersOf(await request(messages, 'peek', left))).toEqual([1, 4])
  expect(await opened.check()).toEqual([])
})

test('rows are changed, moved and removed by id', async () => {
  await using opened = await open()
  const { messages } = opened
  const [queue, other] = await create(opened.messages, ['orders', 'other'])
  const { number: entity } = queue
  await messages.transact(() => send(entity, [{}, { session: 's' }, {}]))
  const rows = await request(messages, 'rowsByNumber', entity, [3, 1, 77])
  expect(numbersOf(rows)).toEqual([1, 3])
  const [first, third] = rows
  if (first === undefined || third === undefined || other === undefined) throw new Error('missing')
  const moved: MessageRow = {
    ...first,
    entity: other.number,
    number: 9,
    session: 'x',
    state: 1,
    lock: LOCK,
    dueMs: 8,
    expiresMs: 9,
    ttlMs: 3,
    deliveries: 2,
    hops: 1,
    deadLetterSource: 'orders',
    changes: '{"a":1}',
    enqueuedMs: 77,
    bytes: 11,
  }
  await request(messages, 'change', [moved, { ...third, deliveries: 5 }])
  expect(await request(messages, 'rowsById', [first.id, third.id])).toEqual([
    moved,
    { ...third, deliveries: 5 },
  ])
  const [given] = await request(messages, 'messagesById', [first.id])
  expect(given).toMatchObject({ ...moved, head: '{"messageId":"1"}' })
  expect(await request(messages, 'sessionsOf', [first.id, third.id])).toEqual(['x'])
  await request(messages, 'remove', [first.id])
  expect(await request(messages, 'messagesById', [first.id])).toEqual([])
})

test('what is due comes in the order of its instant, of locks and of schedules', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  const { number: entity } = queue
  await messages.transact(() =>
    send(entity, [
      { lock: LOCK, dueMs: 30 },
      { state: 2, dueMs: 20 },
      { lock: LOCK, dueMs: 10 },
      { state: 2, dueMs: 500 },
      { lock: LOCK, dueMs: 400 },
      { expiresMs: 60 },
      { expiresMs: 55 },
      { expiresMs: 5, lock: LOCK, dueMs: 999 },
    ]),
  )
  const time = { lockMs: 100, storeMs: 499 }
  expect(numbersOf(await request(messages, 'dueRows', entity, time, 10))).toEqual([3, 2, 1])
  expect(numbersOf(await request(messages, 'dueRows', entity, time, 2))).toEqual([3, 2])
  const expired = { entity, session: undefined, storeMs: 60, max: 10 }
  expect(numbersOf(await request(messages, 'expiredRows', expired))).toEqual([7, 6])
  const place = await request(messages, 'readPlace', entity, { hold: false })
  expect(place).toMatchObject({ dueMs: 10, expiresMs: 55 })
  expect(await messages.look([entity, 999])).toEqual([
    { entity, hasReady: true, lockEndMs: 10, scheduledMs: 20, expiresMs: 55 },
  ])
  expect(await request(messages, 'count', entity, 55)).toEqual({
    active: 6,
    locked: 4,
    deferred: 0,
    scheduled: 2,
    expired: 1,
    bytes: 80,
    oldestEnqueuedMs: 1_000,
  })
})

test('ids are claimed once in their window', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  const claim = (ids: readonly string[], storeMs: number): Promise<readonly string[]> =>
    request(messages, 'claimIds', { entity: queue.number, ids, untilMs: storeMs + 100, storeMs })
  expect(await claim(['b', 'a', 'b'], 1_000)).toEqual(['b', 'a'])
  expect(await claim(['a', 'c'], 1_050)).toEqual(['c'])
  expect(await claim(['a'], 1_100)).toEqual(['a'])
  expect(await claim(['b'], 2_000)).toEqual(['b'])
})

test('a session is held, found, ended and listed', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  const { number: entity } = queue
  await messages.transact(() =>
    send(entity, [
      { session: 'b', expiresMs: 50 },
      { session: 'a' },
      { session: 'b', expiresMs: 70 },
      { session: 'c', state: 1 },
    ]),
  )
  const empty = {
    entity,
    session: 'a',
    lock: undefined,
    lockedUntilMs: 0,
    state: undefined,
    expiredThrough: 0,
    updatedMs: 0,
  }
  expect(await request(messages, 'nextSession', entity, '', 100)).toEqual(empty)
  const held = { ...empty, lock: LOCK, lockedUntilMs: 200, updatedMs: 3 }
  await request(messages, 'changeSession', held)
  expect(await request(messages, 'holdSession', entity, 'a')).toEqual(held)
  expect(await request(messages, 'nextSession', entity, '', 100)).toMatchObject({ session: 'b' })
  expect(await request(messages, 'nextSession', entity, 'b', 100)).toBeUndefined()
  expect(await request(messages, 'nextSession', entity, '', 200)).toMatchObject({ session: 'a' })
  expect(await request(messages, 'endedSessions', entity, 199, 9)).toEqual([])
  expect(await request(messages, 'endedSessions', entity, 200, 9)).toEqual([held])
  expect(await messages.look([entity])).toMatchObject([{ hasReady: true, lockEndMs: 200 }])
  expect(await request(messages, 'expiredSessions', entity, 50, 9)).toEqual(['b'])
  const expired = { ...empty, session: 'b', expiredThrough: 3, state: new Uint8Array([1, 2]) }
  await request(messages, 'changeSession', expired)
  expect(await request(messages, 'expiringSessions', entity, 9)).toEqual([expired])
  expect(await request(messages, 'expiredSessions', entity, 50, 9)).toEqual([])
  expect(await request(messages, 'nextSession', entity, '', 100)).toBeUndefined()
  expect(await messages.look([entity])).toMatchObject([{ hasReady: false }])
  expect(await messages.lookSessions(entity, ['a', 'b', 'c', 'd'])).toEqual([
    { session: 'a', hasReady: true, expiresMs: undefined },
    { session: 'b', hasReady: true, expiresMs: 50 },
  ])
  const inSession = { ...TAKE, entity, session: 'b', dueMs: undefined }
  const waiting = { which: 'waiting', entity, session: 'b', max: 9, through: 2 } as const
  expect(numbersOf(await request(messages, 'sessionRows', waiting))).toEqual([1])
  expect(numbersOf(await request(messages, 'take', { ...inSession, afterNumber: 1 }))).toEqual([3])
  const locked = { which: 'locked', entity, session: 'b', max: 9, lock: LOCK } as const
  expect(numbersOf(await request(messages, 'sessionRows', locked))).toEqual([3])
  const listed = async (after: string) =>
    (await request(messages, 'listSessions', entity, after, 9)).map(
      ({ session, stateMs }) => [session, stateMs] as const,
    )
  expect((await listed('')).map(([session]) => session)).toEqual(['a', 'b', 'c'])
  await request(messages, 'changeSession', { ...held, lock: undefined })
  await request(messages, 'changeSession', {
    ...empty,
    session: 'z',
    state: new Uint8Array(),
    updatedMs: 7,
  })
  expect(await listed('b')).toEqual([
    ['c', undefined],
    ['z', 7],
  ])
})

test('SES-10 a take in a session waits for a row that another transaction has, and keeps the order', async () => {
  await using opened = await openQueue()
  const { messages, queue, url } = opened
  const { number: entity } = queue
  await messages.transact(() => send(entity, [{ session: 's' }, { session: 's' }]))
  const other = new Client(url)
  await other.connect()
  try {
    await other.query('BEGIN; SELECT id FROM tidemark.message WHERE number = 1 FOR UPDATE')
    const taken = request(messages, 'take', { ...TAKE, entity, session: 's', dueMs: undefined })
    await other.query('SELECT pg_sleep(0.3); COMMIT')
    expect(numbersOf(await taken)).toEqual([1, 2])
  } finally {
    await other.end()
  }
})

test('a dropped entity is gone at once, and its rows in pieces', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  await messages.transact(() => send(queue.number, [{}, {}, {}]))
  const definition = { ...DEFINITION, settings: { ...DEFINITION.settings, forwardTo: 'target' } }
  await request(messages, 'changeEntity', queue.number, definition, 7)
  await request(messages, 'dropEntities', [queue.number])
  expect(await request(messages, 'isForwardedTo', 'target')).toBe(false)
  expect(await request(messages, 'readPlace', queue.number, { hold: true })).toBeUndefined()
  expect((await messages.readCatalog()).entities).toEqual([])
  await create(messages, ['orders'])
  expect(await request(messages, 'purge', 2)).toBe(true)
  expect(await request(messages, 'purge', 2)).toBe(false)
  expect(await request(messages, 'rowsById', [1, 2, 3])).toEqual([])
  expect(await opened.check()).toEqual([])
})

test('activity is stamped, and the clocks are kept, with the commit', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  await messages.transact(function* () {
    yield* ask('touch', queue.number, TIME.lockMs + 5)
    yield* ask('storeClock', { storeMs: TIME.storeMs + 1, lockMs: TIME.lockMs + 2 })
  })
  await request(messages, 'touch', queue.number, TIME.lockMs + 1)
  await request(messages, 'storeClock', { storeMs: 5, lockMs: 5 })
  expect(await request(messages, 'readClock')).toEqual({ storeMs: 1_001, lockMs: 1_002 })
  const place = await request(messages, 'readPlace', queue.number, { hold: true })
  expect(place?.record.accessedMs).toBe(TIME.lockMs + 5)
})

test('a message that has lost its body is given to nobody, and takes no other along', async () => {
  await using opened = await openQueue()
  const { messages, queue } = opened
  const { number: entity } = queue
  await messages.transact(() => send(entity, [{}, {}, {}]))
  const client = new Client({ connectionString: opened.url })
  await client.connect()
  await client.query('DELETE FROM tidemark.message_body WHERE id IN (1, 3)')
  await client.end()
  const deletes = { ...TAKE, entity, locks: [], dueMs: undefined, deletes: true }
  expect(numbersOf(await request(messages, 'take', deletes))).toEqual([2])
  await messages.transact(() => send(entity, [{}]))
  expect(numbersOf(await request(messages, 'take', { ...TAKE, entity }))).toEqual([4])
  expect(await opened.check()).toEqual([
    'message 1 of entity orders has no body',
    'message 3 of entity orders has no body',
  ])
})

test('a take finds each row by an index: no list is compared with another row by row', async () => {
  await using opened = await openQueue()
  const client = new Client({ connectionString: opened.url })
  await client.connect()
  try {
    await client.query(['BEGIN', ...SETTINGS].join('; '))
    for (const [index, template] of TAKE_STATEMENTS.entries()) {
      const text = template.replaceAll(':schema', 'tidemark')
      await client.query(`PREPARE take${index} AS ${text}`)
      const values = Array.from(new Set(text.match(/\$\d/g)), () => 'NULL').join(', ')
      const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE take${index}(${values})`)
      const plan = JSON.stringify(rows)
      expect(plan).toContain('"Node Type":"Index Scan","Parent Relationship":"Inner"')
      expect(plan).not.toMatch(/"(?:CTE|Seq) Scan","Parent Relationship":"Inner"/)
    }
  } finally {
    await client.end()
  }
})

test('SET-19 two processes that take at once never get the same message, whoever is faster', async () => {
  await using first = await openQueue()
  await using second = await open(first.url)
  const { number: entity } = first.queue
  await first.messages.transact(() =>
    send(
      entity,
      Array.from({ length: 200 }, () => ({})),
    ),
  )
  const takes = [first, second].flatMap(({ messages }) =>
    Array.from({ length: 20 }, () => request(messages, 'take', { ...TAKE, entity, max: 5 })),
  )
  const taken = (await Promise.all(takes)).flatMap(numbersOf)
  expect(taken).toHaveLength(200)
  expect(new Set(taken).size).toBe(200)
})

test('numbers have no gap with many senders in two processes', async () => {
  await using first = await openQueue()
  await using second = await open(first.url)
  const { number: entity } = first.queue
  const sends = [first, second].flatMap(({ messages }) =>
    Array.from({ length: 25 }, () => messages.transact(() => send(entity, [{}, {}]))),
  )
  await Promise.all(sends)
  const all = { entity, session: undefined, fromNumber: 1, max: 200, maxBytes: 1_000_000 }
  expect(numbersOf(await request(first.messages, 'peek', all))).toEqual(
    Array.from({ length: 100 }, (_, index) => index + 1),
  )
  expect(await request(first.messages, 'readBytes', entity)).toBe(1_000)
  expect(await first.check()).toEqual([])
})

test('a deleted database takes its messages along', async () => {
  const url = await server.createDatabase()
  const engine = await openPostgresEngine({ url })
  await engine.createDatabase('db')
  const { messages } = await engine.openDatabase('db')
  if (!(messages instanceof PostgresMessages)) throw new Error('other messages')
  const [queue] = await create(messages, ['orders'])
  await messages.transact(() => send(queue.number, [{}]))
  await engine.deleteDatabase('db')
  await expect(messages.readCatalog()).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  await database.readMaintenance()
  expect(await database.check()).toEqual([])
  if (!(database.messages instanceof PostgresMessages)) throw new Error('other messages')
  expect(await request(database.messages, 'rowsById', [1])).toEqual([])
  expect(database.messages.nowMs()).toBeGreaterThan(systemClock.wallMs() - 10_000)
  await engine.close()
})
