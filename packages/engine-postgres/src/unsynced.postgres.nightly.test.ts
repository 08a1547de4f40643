import {
  FULL_RANGE,
  effectivePartitionKey,
  partitionKeyDefinition,
  systemClock,
  type Clock,
} from '@tidemark/contracts'
import type {
  CollectionDefinition,
  CollectionRecord,
  CommitOutcome,
  CommitRequest,
  DatabaseEngine,
  StorageEngine,
} from '@tidemark/store/engine'
import {
  startPgBouncer,
  startPostgresProcess,
  type PostgresProcess,
} from '@tidemark/testing/servers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { put } from './maintenance/store-under-test.fixture.ts'
import { openPostgresEngine } from './postgres-engine.ts'
import { EPOCH_JUMP } from './schema/epoch-jump.ts'

// Commits that do not wait for the disk, on a server that writes nothing out by itself.

let server: PostgresProcess
beforeAll(async () => {
  server = await startPostgresProcess({ settings: { wal_writer_delay: '10s', autovacuum: 'off' } })
})

/** Until the server ends, nothing but commits and flushes writes its log to the disk, however long a test takes. */
async function stopLogWriter(): Promise<void> {
  const find = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'`
  const [row] = await server.query(find)
  process.kill(Number(row?.['pid']), 'SIGSTOP')
}
afterAll(() => server[Symbol.asyncDispose]())

const partitionKey = partitionKeyDefinition('/pk')
const DEFINITION: CollectionDefinition = {
  partitionKey,
  defaultTtl: null,
  indexingMode: 'consistent',
  pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
  allVersions: null,
  splitAboveBytes: null,
}

interface Opened {
  readonly engine: StorageEngine
  readonly database: DatabaseEngine
  readonly collection: CollectionRecord
}

/** On which the flush after 200 ms never comes. */
const withoutFlush: Clock = {
  wallMs: () => systemClock.wallMs(),
  monotonicMs: () => systemClock.monotonicMs(),
  sleep: (ms, signal, options) => systemClock.sleep(ms === 200 ? 2 ** 31 - 1 : ms, signal, options),
}

async function open(url: string, clock = withoutFlush): Promise<Opened> {
  // With the server's time, a synced statement beside the commits keeps it.
  const engine = await openPostgresEngine({ url, clock, storeTime: 'process' })
  if (!(await engine.listDatabases()).some(({ id }) => id === 'db'))
    await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  const collection =
    (await database.readCollection('coll')) ??
    (await database.createCollection('coll', DEFINITION, [FULL_RANGE]))
  return { engine, database, collection }
}

async function write(
  { database, collection }: Opened,
  id: string,
  options: Omit<CommitRequest, 'batches'> = {},
): Promise<number> {
  const key = { epk: effectivePartitionKey(['a'], partitionKey), partitionKey: '["a"]' }
  const batch = { collection: collection.number, ...key, operations: [put(id)] }
  const outcome: CommitOutcome = await database.commit({ batches: [batch], ...options })
  if (outcome.kind !== 'committed') throw new Error(outcome.kind)
  return outcome.batches[0]?.lsn ?? 0
}

async function page({ database, collection }: Opened, afterLsn: number) {
  const read = { collection, range: FULL_RANGE, maxItems: 1000, maxChars: 1_000_000 }
  const { rows, lsn, epoch, caughtUp } = await database.readFeedPage({ ...read, afterLsn })
  return { ids: rows.map((row) => row[6]), lsns: rows.map(([at]) => at), lsn, epoch, caughtUp }
}

async function crash(): Promise<void> {
  await server.kill()
  await server.start()
}

describe.each([
  ['immediate stop', () => server.stop('immediate')],
  ['SIGKILL', () => server.kill()],
])('after the %s of a server with commits that did not wait for the disk', (_, end) => {
  test('ST-5 those are lost, the others are there, no LSN comes back, and no reader misses anything', async () => {
    const url = await server.createDatabase()
    const one = await open(url)
    const two = await open(url)
    const kept = await write(one, 'kept')
    await stopLogWriter()
    const lost = await Promise.all(
      Array.from({ length: 20 }, (__, n) => write(one, `lost ${n}`, { sync: false })),
    )
    // Visible at once, also elsewhere, and before they are safe.
    const ahead = await page(two, 0)
    expect(ahead.ids).toHaveLength(21)
    expect(ahead.lsn).toBe(Math.max(...lost))
    await end()
    await server.start()
    // The test shows nothing if nothing was lost.
    const feed = await page(two, 0)
    expect(feed.ids).toEqual(['kept'])
    await expect(one.database.flush?.()).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })

    // A reader that is ahead is told of the new epoch before anybody writes.
    const empty = await page(two, ahead.lsn)
    expect(empty).toMatchObject({ ids: [], caughtUp: true, epoch: ahead.epoch + 1 })
    const next = await write(one, 'next', { sync: false })
    expect(next).toBe(kept + EPOCH_JUMP + 1)
    expect(await page(two, ahead.lsn)).toMatchObject({ ids: ['next'], epoch: ahead.epoch + 1 })
    expect((await page(two, empty.lsn)).ids).toEqual(['next'])
    expect(await one.database.check()).toEqual([])
    await one.engine.close()
    await two.engine.close()
  })

  test('ST-5 also a writer begins the epoch, which itself is on disk whatever the commit asks for', async () => {
    const url = await server.createDatabase()
    const one = await open(url)
    const kept = await write(one, 'kept')
    await stopLogWriter()
    await write(one, 'lost', { sync: false })
    await end()
    await server.start()
    await stopLogWriter()
    const first = await write(one, 'first', { sync: false })
    expect(first).toBe(kept + EPOCH_JUMP + 1)
    const { epoch } = await page(one, 0)
    const second = await write(one, 'second', { sync: false })
    expect(second).toBe(first + 1)
    await end()
    await server.start()
    // With the epoch it was synced; the next was not.
    expect((await page(one, 0)).ids).toEqual(['kept', 'first'])
    expect(await write(one, 'third')).toBe(first + EPOCH_JUMP + 1)
    expect((await page(one, 0)).epoch).toBe(epoch + 1)
    await one.engine.close()
  })
})

test('ST-5 a clean restart begins no epoch and loses nothing', async () => {
  const one = await open(await server.createDatabase())
  const lsn = await write(one, 'one', { sync: false })
  const { epoch } = await page(one, 0)
  await server.restart('fast')
  expect(await write(one, 'two')).toBe(lsn + 1)
  expect(await page(one, 0)).toMatchObject({ ids: ['one', 'two'], epoch })
  await one.engine.close()
})

/** How each makes what was committed before it durable. */
const ways: readonly (readonly [string, (opened: Opened) => Promise<unknown>])[] = [
  ['flushed', ({ database }) => database.flush?.() ?? Promise.reject(new Error('no flush'))],
  ['followed by a synced commit', (opened) => write(opened, 'synced')],
  ['closed', ({ engine }) => engine.close()],
  [
    'with a fence',
    (opened) =>
      write(opened, 'fenced', {
        sync: false,
        fence: { job: 'job', range: FULL_RANGE, epoch: 1 },
      }),
  ],
]

test.each(ways)('ST-6 what was %s survives the server', async (_, act) => {
  const url = await server.createDatabase()
  const one = await open(url)
  await stopLogWriter()
  await write(one, 'one', { sync: false })
  await act(one)
  const before = await page(await open(url), 0)
  await crash()
  const again = await open(url)
  expect(await page(again, 0)).toEqual(before)
  expect(before.ids).toContain('one')
  await again.engine.close()
  await one.engine.close()
})

test('after 200 ms the last ones are made durable', async () => {
  const one = await open(await server.createDatabase(), systemClock)
  await stopLogWriter()
  await write(one, 'one', { sync: false })
  const [row] = await server.query('SELECT pg_current_wal_insert_lsn()::text AS lsn')
  const isDone = 'SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn AS done'
  const flushed = () => server.query(isDone, { values: [row?.['lsn']] })
  await expect.poll(flushed).toEqual([{ done: true }])
  await crash()
  expect((await page(one, 0)).ids).toEqual(['one'])
  await one.engine.close()
})

test('behind a pooler, where commits are late by default, each is what it asks for', async () => {
  const url = await server.createDatabase()
  const name = new URL(url).pathname.slice(1)
  await server.query(`ALTER DATABASE ${name} SET synchronous_commit = off`)
  await using pooler = await startPgBouncer(server)
  const one = await open(pooler.url(name))
  const kept = await write(one, 'kept')
  await stopLogWriter()
  await write(one, 'lost', { sync: false })
  await crash()
  expect((await page(one, 0)).ids).toEqual(['kept'])
  expect(await write(one, 'next')).toBe(kept + EPOCH_JUMP + 1)
  await crash()
  expect((await page(one, 0)).ids).toEqual(['kept', 'next'])
  await one.engine.close()
})

test('a role without special rights flushes', async () => {
  const url = await server.createDatabase()
  const name = new URL(url).pathname.slice(1)
  const owner = `owner_${name}`
  await server.query(`CREATE ROLE ${owner} LOGIN`)
  await server.query(`GRANT CREATE ON DATABASE ${name} TO ${owner}`)
  const own = new URL(url)
  own.username = owner
  const one = await open(own.href)
  await stopLogWriter()
  await write(one, 'one', { sync: false })
  await one.database.flush?.()
  await crash()
  expect((await page(one, 0)).ids).toEqual(['one'])
  await one.engine.close()
})
