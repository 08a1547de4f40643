import { FULL_RANGE, effectivePartitionKey, partitionKeyDefinition } from '@tidemark/contracts'
import { PENDING_DELETE_ROW } from '@tidemark/contracts/internal'
import {
  type CollectionDefinition,
  type CollectionRecord,
  type CommitOutcome,
  type DatabaseEngine,
  type WriteFence,
} from '@tidemark/store/engine'
import { Store } from '@tidemark/store'
import { ShiftedClock } from '@tidemark/testing'
import {
  sharedPostgres,
  startPostgresProcess,
  type SharedPostgres,
} from '@tidemark/testing/servers'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { put } from './maintenance/store-under-test.fixture.ts'
import { openPostgresEngine } from './postgres-engine.ts'

/*
 * Administrators change what a transaction is by default. None of it may change what a store promises.
 */

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
  defaultTtl: -1,
  indexingMode: 'consistent',
  pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
  allVersions: null,
  splitAboveBytes: null,
}

function write(
  database: DatabaseEngine,
  collection: CollectionRecord,
  { id, ttl = 0, fence }: { id: string; ttl?: number; fence?: WriteFence },
): Promise<CommitOutcome> {
  const key = { epk: effectivePartitionKey(['a'], partitionKey), partitionKey: '["a"]' }
  const batch = { collection: collection.number, ...key, operations: [put(id, ttl)] }
  return database.commit({ batches: [batch], fence })
}

async function clientAt(url: string): Promise<Client> {
  const client = new Client(url)
  await client.connect()
  return client
}

async function untilBlocked(client: Client): Promise<void> {
  const blocked = `SELECT count(*) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`
  while (Number((await client.query<{ n: string }>(blocked)).rows[0]?.n) === 0);
}

test.each(['', '?options=-c%20search_path%3Dpublic'])(
  'JB-2 a stale worker is refused also where transactions are REPEATABLE READ by default (URL%s)',
  async (parameters) => {
    const url = await server.createDatabase()
    await using stack = new AsyncDisposableStack()
    const [admin, watch] = [await clientAt(url), await clientAt(url)]
    stack.defer(() => admin.end())
    stack.defer(() => watch.end())
    const name = new URL(url).pathname.slice(1)
    await admin.query(
      `ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`,
    )
    const engine = await openPostgresEngine({ url: `${url}${parameters}` })
    stack.defer(() => engine.close())
    await engine.createDatabase('db')
    const database = await engine.openDatabase('db')
    const collection = await database.createCollection('coll', DEFINITION, [FULL_RANGE])
    const fence = { job: 'job', range: FULL_RANGE, epoch: 1 }
    expect(await write(database, collection, { id: 'one', fence })).toMatchObject({
      kind: 'committed',
    })
    // What the commit of a newer worker does, in another process.
    await admin.query('BEGIN ISOLATION LEVEL READ COMMITTED')
    await admin.query('SELECT 1 FROM tidemark.fence_job FOR UPDATE')
    await admin.query('UPDATE tidemark.fence SET epoch = 2')
    const stale = write(database, collection, { id: 'two', fence })
    await untilBlocked(watch)
    await admin.query('COMMIT')
    expect(await stale).toEqual({ kind: 'fenced', currentEpoch: 2 })
  },
)

test('ST-5 what readers were shown survives a crash where commits need not be durable by default', async () => {
  await using own = await startPostgresProcess({
    // Nobody but a commit sees to it.
    settings: { synchronous_commit: 'off', wal_writer_delay: '10s' },
  })
  const clock = new ShiftedClock()
  const engine = await openPostgresEngine({ url: own.url(), clock, storeTime: 'process' })
  await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  const collection = await database.createCollection('coll', DEFINITION, [FULL_RANGE])
  await write(database, collection, { id: 'one', ttl: 1 })
  clock.step(5000)
  const swept = await database.maintain({
    holder: 'test',
    leaseMs: 1000,
    maxItems: 10,
    task: { kind: 'sweep', collection },
  })
  expect(swept).toMatchObject({ kind: 'done', items: 1 })
  const query = { collection, range: FULL_RANGE, afterLsn: 1, maxItems: 10, maxChars: 1000 }
  const shown = await database.readFeedPage(query)
  expect(shown.rows.map(([lsn, kind]) => [lsn, kind])).toEqual([[2, PENDING_DELETE_ROW]])
  await own.stop('immediate')
  await own.start()
  const after = await database.readFeedPage(query)
  expect([after.lsn, after.rows]).toEqual([2, shown.rows])
  await engine.close()
})

const ODD_DEFAULTS = [
  'array_nulls = off',
  'bytea_output = escape',
  'extra_float_digits = -15',
  'standard_conforming_strings = off',
  "DateStyle = 'German'",
  "TimeZone = 'Asia/Kathmandu'",
  'transform_null_equals = on',
] as const

test.each(
  ODD_DEFAULTS.flatMap((setting) => [[setting, 'url'] as const, [setting, 'pool'] as const]),
)(
  'ST-3 documents are written and read where a database has %s by default (%s)',
  async (setting, by) => {
    const url = await server.createDatabase()
    await using stack = new AsyncDisposableStack()
    const admin = await clientAt(url)
    await admin.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`)
    await admin.end()
    const pool = new Pool({ connectionString: url })
    stack.defer(() => pool.end())
    const engine = await openPostgresEngine(by === 'url' ? { url } : { pool })
    const store = await Store.open({ engine, maintenance: 'manual' })
    stack.defer(() => store.close())
    const docs = await store
      .database('db')
      .createCollectionIfNotExists<{ id: string; mail: string | null; text: string }>({
        id: 'docs',
        partitionKey: '/id',
        defaultTtl: -1,
        uniqueKeys: [['/mail']],
        allVersions: { retentionSeconds: 60 },
      })
    const document = { id: 'a', mail: null, text: "back\\slash 'quote' \u0001 €" }
    await docs.create(document)
    await docs.upsert({ ...document, id: 'b', ttl: 60 } as typeof document)
    expect((await docs.read('a', 'a')).document).toMatchObject(document)
    const [range] = await docs.readFeedRanges()
    const mode = 'allVersions'
    const { continuation } = await docs.resolveStart({ range: range!, start: 'beginning', mode })
    const page = await docs.readPage({ range: range!, continuation, mode })
    expect(page.changes.map(({ id }) => id)).toEqual(['a', 'b'])
  },
)
