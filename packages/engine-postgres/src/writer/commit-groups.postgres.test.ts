import {
  FULL_RANGE,
  effectivePartitionKey,
  partitionKeyDefinition,
  partitionKeyText,
} from '@tidemark/contracts'
import type {
  CollectionDefinition,
  CollectionRecord,
  CommitBatch,
  CommitOperation,
  DatabaseEngine,
  StorageEngine,
} from '@tidemark/store/engine'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnderTest, put } from '../maintenance/store-under-test.fixture.ts'
import { openPostgresEngine } from '../postgres-engine.ts'
import { openTestedEngine } from '../testing.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const partitionKey = partitionKeyDefinition('/pk')
const DEFINITION: CollectionDefinition = {
  partitionKey,
  defaultTtl: null,
  indexingMode: 'consistent',
  pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
  allVersions: null,
  splitAboveBytes: null,
}

interface Opened extends AsyncDisposable {
  readonly url: string
  readonly engine: StorageEngine
  readonly database: DatabaseEngine
  create(id: string): Promise<CollectionRecord>
}

async function open(options: { readonly segmentSlots?: number } = {}): Promise<Opened> {
  const url = await server.createDatabase()
  const engine = await openTestedEngine({ url, ...options })
  await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  return {
    url,
    engine,
    database,
    create: (id) => database.createCollection(id, DEFINITION, [FULL_RANGE]),
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

function batch(
  { number: collection }: CollectionRecord,
  pk: string,
  ...operations: readonly CommitOperation[]
): CommitBatch {
  const epk = effectivePartitionKey([pk], partitionKey)
  return { collection, epk, partitionKey: partitionKeyText([pk]), operations }
}

/** Resolves when a statement of an engine waits for a lock. */
async function untilBlocked(url: string): Promise<void> {
  const blocked = `SELECT count(*) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`
  const client = new Client(url)
  await client.connect()
  while (Number((await client.query<{ n: string }>(blocked)).rows[0]?.n) === 0);
  await client.end()
}

/** That PostgreSQL cannot make short. */
function noise(length: number): string {
  let text = ''
  for (let state = 1; text.length < length;) {
    state = (state * 48_271) % 2_147_483_647
    text += String.fromCodePoint(0x4e00 + (state % 20_000))
  }
  return text
}

test('a key that no index of the server can hold, and a number that is no LSN, fail their own commits alone', async () => {
  await using store = await open()
  const { database } = store
  const collection = await store.create('coll')
  const half = { ...put('half'), condition: { kind: 'lsn', lsn: 0.5 } } as const
  const [one, long, no, two] = await Promise.allSettled([
    database.commit({ batches: [batch(collection, 'a', put('one'))] }),
    database.commit({ batches: [batch(collection, noise(1200), put('long'))] }),
    database.commit({ batches: [batch(collection, 'a', half)] }),
    database.commit({ batches: [batch(collection, 'a', put('two'))] }),
  ])
  expect(no).toMatchObject({ reason: { code: 'ERR_INVALID_DOCUMENT', retryable: false } })
  expect(one).toMatchObject({ value: { kind: 'committed' } })
  expect(two).toMatchObject({ value: { kind: 'committed' } })
  expect(long).toMatchObject({ reason: { code: 'ERR_INVALID_DOCUMENT', retryable: false } })
  expect(await database.countDocuments(collection)).toBe(2)
})

test('ST-5 what was acknowledged is not written again when the new segment after it cannot be made', async () => {
  await using store = await open({ segmentSlots: 1 })
  const { database } = store
  const [a, b, c] = [await store.create('a'), await store.create('b'), await store.create('c')]
  // Both commits go at once only if nothing has to be read first.
  for (const each of [a, b, c]) await database.listRanges(each)
  const client = new Client(store.url)
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query(`DELETE FROM tidemark.collection WHERE id = 'a'`)
    // Both in one group; the range of `a` is the first that needs a new segment, and waits.
    const [, kept] = await Promise.all([
      database.commit({ batches: [batch(a, 'x', put('one')), batch(b, 'x', put('one'))] }),
      database.commit({ batches: [batch(b, 'y', put('two')), batch(c, 'y', put('two'))] }),
    ])
    const acknowledged = kept.kind === 'committed' ? kept.batches.map(({ lsn }) => lsn) : []
    expect(acknowledged).toHaveLength(2)
    await untilBlocked(store.url)
    await client.query('COMMIT')
    // A commit of the same queue comes after everything that follows the group.
    await database.commit({ batches: [batch(b, 'z', put('last')), batch(c, 'z', put('last'))] })
    const key = {
      epk: effectivePartitionKey(['y'], partitionKey),
      partitionKey: '["y"]',
      id: 'two',
    }
    const rows = [
      await database.readDocument({ collection: b, ...key }),
      await database.readDocument({ collection: c, ...key }),
    ]
    expect(rows.map((row) => row?.lsn)).toEqual(acknowledged)
  } finally {
    await client.end()
  }
})

test('a commit that was accepted before the store was closed is finished, also the first of a process', async () => {
  await using store = await open()
  await store.create('coll')
  const engine = await openPostgresEngine({ url: store.url })
  const database = await engine.openDatabase('db')
  const collection = await database.readCollection('coll')
  if (collection === undefined) throw new Error('the collection is not there')
  const client = new Client(store.url)
  await client.connect()
  try {
    // Nothing is known of its ranges yet: they are read first, which this keeps from coming to an end.
    await client.query('BEGIN; LOCK TABLE tidemark.pkrange IN ACCESS EXCLUSIVE MODE')
    const committed = database.commit({ batches: [batch(collection, 'a', put('one'))] })
    const [two, again] = [put('two'), put('two')]
    const twice = database.commit({
      batches: [batch(collection, 'b', two), batch(collection, 'b', again)],
    })
    await untilBlocked(store.url)
    const closed = engine.close()
    // Time for everything that does not wait for the commits.
    for (let n = 0; n < 100; n++) await client.query('SELECT 1')
    await client.query('COMMIT')
    expect(await Promise.all([committed, twice])).toMatchObject([
      { kind: 'committed' },
      { kind: 'committed' },
    ])
    await closed
  } finally {
    await client.end()
  }
})

test('ST-9 a segment whose number a fail-over gave to other keys gets no document that nobody would read', async () => {
  await using store = await StoreUnderTest.open(server)
  const { database, collection } = store
  await store.commit('a', put('one'))
  const [before] = await database.listRanges(collection)
  if (before === undefined) throw new Error('no range')
  // What this process knows is a history that was lost: in the present one of the same version the segment has
  // only the upper half of the keys, and another the lower.
  await store.query(`WITH lower AS (
      INSERT INTO segment SELECT lsn, clock, base, nextval('segment_number'), coll, epoch, timeline, state, folded,
        min, '20', horizon, log_horizon FROM segment RETURNING id, coll),
    range AS (INSERT INTO pkrange SELECT coll, 7, '', '20', '[]', id, 0 FROM lower RETURNING number, coll, segment)
    INSERT INTO pkrange_segment SELECT coll, number, segment FROM range`)
  await store.query(`UPDATE segment SET min = '20' WHERE id = $1`, [before.segment])
  await store.query(`UPDATE pkrange SET min = '20' WHERE segment = $1`, [before.segment])
  const epks = ['00', '30'].map((epk) => ({ epk, partitionKey: `["${epk}"]` }))
  const outcomes = await Promise.all(
    epks.map((key) =>
      database.commit({
        batches: [{ collection: collection.number, ...key, operations: [put('two')] }],
      }),
    ),
  )
  expect(outcomes.map(({ kind }) => kind)).toEqual(['committed', 'committed'])
  const rows = await store.query(`SELECT epk, segment FROM doc WHERE id = 'two' ORDER BY epk`)
  expect(rows.map(([epk, segment]) => [epk, segment === before.segment])).toEqual([
    ['00', false],
    ['30', true],
  ])
})

test('JB-2 an expiry that is further away than a ttl can say is as far as it can', async () => {
  await using store = await StoreUnderTest.open(server)
  const { database, collection } = store
  const expirySecond = Math.floor(store.clock.wallMs() / 1000) + 2 ** 31 + 5
  const operation = { ...put('one'), expirySecond }
  await store.commit('a', operation)
  const key = { epk: effectivePartitionKey(['a'], partitionKey), partitionKey: '["a"]', id: 'one' }
  const row = await database.readDocument({ collection, ...key })
  expect(row?.ttl).toBe(2 ** 31 - 1)
})

test('a commit that writes one document twice locks in the order of all others: the clock before segments', async () => {
  await using store = await StoreUnderTest.open(server)
  const { database, collection } = store
  await store.commit('a', put('one'))
  await store.query('BEGIN')
  await store.query('UPDATE database SET clock = clock')
  const [first, second] = [put('two'), put('two')]
  const epk = effectivePartitionKey(['b'], partitionKey)
  const key = { collection: collection.number, epk, partitionKey: '["b"]' }
  store.clock.step(1)
  const committed = database.commit({
    batches: [
      { ...key, operations: [first] },
      { ...key, operations: [second] },
    ],
  })
  await store.untilBlocked()
  // Were it locked, the two would wait for each other.
  expect(await store.query('SELECT 1 FROM segment FOR UPDATE NOWAIT')).toHaveLength(1)
  await store.query('COMMIT')
  expect(await committed).toMatchObject({ kind: 'committed' })
})

/** A store whose keys below and above '20' are in segments of their own, the lower one behind the other on disk. */
async function crossingStore(): Promise<StoreUnderTest & { readonly segments: readonly number[] }> {
  const store = await StoreUnderTest.open({
    // Rows come as they lie on disk, unless a statement orders them.
    createDatabase: async () => {
      const url = await server.createDatabase()
      const client = new Client(url)
      await client.connect()
      const name = client.database ?? ''
      await client.query(`ALTER DATABASE "${name}" SET enable_indexscan = off`)
      await client.query(`ALTER DATABASE "${name}" SET enable_indexonlyscan = off`)
      await client.end()
      return url
    },
  })
  await store.split('20')
  const ranges = await store.database.listRanges(store.collection)
  const segments = ranges.map(({ segment }) => segment)
  await store.query('UPDATE segment SET clock = clock WHERE id = $1', [Math.min(...segments)])
  const onDisk = await store.query(`SELECT id FROM segment WHERE state = 'open' ORDER BY ctid DESC`)
  expect(onDisk.flat()).toEqual(segments.toSorted((a, b) => a - b))
  return Object.assign(store, { segments })
}

const inLow = { epk: '00', partitionKey: '["low"]' }
const inHigh = { epk: '30', partitionKey: '["high"]' }

test.each([
  { commits: 'commits', again: [] },
  { commits: 'commits that write one document twice', again: [put('two')] },
])(
  '$commits over several ranges lock them in one order, whatever theirs and that on disk',
  async ({ again }) => {
    await using store = await crossingStore()
    const { database, segments } = store
    const { number } = store.collection
    await store.query('BEGIN')
    await store.query('SELECT 1 FROM segment WHERE id = $1 FOR UPDATE', [Math.min(...segments)])
    const committed = database.commit({
      batches: [
        { collection: number, ...inHigh, operations: [put('two')] },
        { collection: number, ...inLow, operations: [put('two')] },
        ...again.map((operation) => ({
          collection: number,
          ...inHigh,
          operations: [operation],
        })),
      ],
    })
    await store.untilBlocked()
    const higher = 'SELECT 1 FROM segment WHERE id = $1 FOR UPDATE NOWAIT'
    // Held by the one that waits for the lower, it would be waited for by one that holds the lower.
    expect(await store.query(higher, [Math.max(...segments)])).toHaveLength(1)
    await store.query('COMMIT')
    expect(await committed).toMatchObject({ kind: 'committed' })
  },
)

test('ST-4 ST-5 commits of two processes that cross over several ranges all come through, each in every range', async () => {
  await using store = await crossingStore()
  const { database, other, collection } = store
  const lsns: number[][] = [[], []]
  const commit = async (n: number): Promise<void> => {
    const places = [inLow, inHigh]
    // Every other one in the other order, every third with a document twice.
    const order = n % 2 === 0 ? [0, 1] : [1, 0]
    const crossing = n % 3 === 0 ? [...order, order[0] ?? 0] : order
    const outcome = await (n % 4 < 2 ? database : other).commit({
      batches: crossing.map((place) => ({
        collection: collection.number,
        ...(places[place] ?? inLow),
        operations: [put(`d${n}`)],
      })),
    })
    if (outcome.kind !== 'committed') throw new Error(outcome.kind)
    for (const [index, place] of crossing.entries()) {
      lsns[place]?.push(outcome.batches[index]?.lsn ?? 0)
    }
  }
  await Promise.all(Array.from({ length: 36 }, (_, n) => commit(n)))
  for (const each of lsns) expect(new Set(each).size).toBe(each.length)
  const rows = await store.query(
    `SELECT id, count(*)::integer FROM doc WHERE kind = 0 GROUP BY id HAVING count(*) = 2`,
  )
  expect(rows).toHaveLength(36)
  expect(await database.check()).toEqual([])
})
