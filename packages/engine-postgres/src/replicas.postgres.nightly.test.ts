import { FULL_RANGE, systemClock, systemRandom } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import {
  startPostgresReplica,
  startPostgresProcess,
  type PostgresProcess,
} from '@tidemark/testing/servers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Connections } from './connection/connections.ts'
import { CountingPool } from './counting-pool.fixture.ts'
import { follow } from './feed-follower.fixture.ts'
import type { PostgresEngineOptions } from './options.ts'
import { openPostgresEngine } from './postgres-engine.ts'
import { openAt, type Note } from './store-with-faults.fixture.ts'

let primary: PostgresProcess
let replica: PostgresProcess
let url: string
let replicaUrl: string
/** Writes, and reads from the primary only. */
let writer: Store
let notes: Collection<Note>

beforeAll(async () => {
  primary = await startPostgresProcess()
  // A page that stands in the way of replay is cancelled soon.
  const settings = { max_standby_streaming_delay: '50ms' }
  replica = await startPostgresReplica(primary, { settings })
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await primary[Symbol.asyncDispose]()
})
beforeEach(async () => {
  url = await primary.createDatabase()
  replicaUrl = replica.url(new URL(url).pathname.slice(1))
  writer = await openAt(url)
  notes = await notesOf(writer)
  await replica.caughtUpWith(primary)
})
afterEach(async () => {
  await replica.start()
  await pauseReplay(false)
  await writer.close()
})

function notesOf(store: Store): Promise<Collection<Note>> {
  return store
    .database('db')
    .createCollectionIfNotExists<Note>({ id: 'notes', partitionKey: '/key' })
}

async function pauseReplay(isPaused: boolean): Promise<void> {
  await replica.query(`SELECT pg_wal_replay_${isPaused ? 'pause' : 'resume'}()`)
  const state = 'SELECT pg_get_wal_replay_pause_state() AS state'
  const wanted = isPaused ? 'paused' : 'not paused'
  await expect.poll(() => replica.query(state)).toEqual([{ state: wanted }])
}

async function rangeIds(): Promise<string[]> {
  return (await notes.readFeedRanges()).map(({ id }) => id ?? '')
}

const create = (id: string, key = 'a'): Promise<unknown> => notes.create({ id, key, text: '' })

/** Ids of what comes after a position now, and the position after that. */
async function readOn(
  collection: Collection<Note>,
  from: 'beginning' | { readonly continuation: string },
): Promise<{ readonly ids: string[]; readonly continuation: string }> {
  const ids: string[] = []
  let continuation = ''
  for await (const page of collection.changes({ from, follow: false })) {
    ids.push(...page.changes.map(({ id }) => id))
    continuation = page.continuation
  }
  return { ids, continuation }
}

/** A store that reads from the replica; its statements are counted. */
async function openReader(options: PostgresEngineOptions = {}): Promise<
  AsyncDisposable & {
    readonly notes: Collection<Note>
    readonly toPrimary: CountingPool
    readonly toReplica: CountingPool
  }
> {
  const toPrimary = new CountingPool(url)
  const toReplica = new CountingPool(replicaUrl)
  const engine = await openPostgresEngine({
    pool: toPrimary.pool,
    replicaPool: toReplica.pool,
    ...options,
  })
  const store = await Store.open({ engine, maintenance: 'manual' })
  return {
    notes: await notesOf(store),
    toPrimary,
    toReplica,
    [Symbol.asyncDispose]: async () => {
      await store.close()
      await toPrimary[Symbol.asyncDispose]()
      await toReplica[Symbol.asyncDispose]()
    },
  }
}

const pause = (delayMs: number): Promise<void> =>
  systemClock.sleep(delayMs, new AbortController().signal)

test('pages of a feed come from the replica, also while the primary stands still', async () => {
  await using reader = await openReader()
  await create('first')
  await replica.caughtUpWith(primary)
  const { continuation } = await readOn(reader.notes, 'beginning')
  const page = (): Promise<unknown> =>
    reader.notes.readPage({ range: FULL_RANGE, continuation, maxItemCount: 10 })
  reader.toPrimary.take()
  reader.toReplica.take()
  for (let count = 0; count < 10; count++) await page()
  expect(reader.toReplica.take()).toBe(10)
  expect(reader.toPrimary.take()).toBe(0)
  await primary.pause()
  try {
    await page()
  } finally {
    primary.resume()
  }
  await pauseReplay(true)
  await create('second')
  expect(await readOn(reader.notes, 'beginning')).toMatchObject({ ids: ['first'] })
  expect(await readOn(notes, 'beginning')).toMatchObject({ ids: ['first', 'second'] })
})

test('CF-3 a reader of the replica misses nothing of 16 writers and sees LSNs ascend, while it lags now and then', async () => {
  await using reader = await openReader()
  const follower = follow(reader.notes)
  const written: string[] = []
  let isOver = false
  const lanes = Array.from({ length: 16 }, async (_, lane) => {
    for (let turn = 0; !isOver; turn++) {
      const id = `${lane}-${turn}`
      await create(id, `key ${id}`)
      written.push(id)
    }
  })
  for (let round = 0; round < 4; round++) {
    await pause(250)
    await pauseReplay(true)
    await pause(100)
    await pauseReplay(false)
  }
  isOver = true
  await Promise.all(lanes)
  await expect.poll(() => follower.seen.length).toBe(written.length)
  await follower.stop()
  expect(written.length).toBeGreaterThan(200)
  expect(new Set(follower.seen.map(({ id }) => id))).toEqual(new Set(written))
  const lsns = follower.seen.map(({ lsn }) => lsn)
  expect(lsns).toEqual(lsns.toSorted((a, b) => a - b))
  expect(reader.toReplica.take()).toBeGreaterThan(20)
})

test('a reader that is ahead of the replica reads from the primary', async () => {
  await using reader = await openReader()
  await pauseReplay(true)
  await create('first')
  const { continuation } = await readOn(notes, 'beginning')
  await create('second')
  expect(await readOn(reader.notes, { continuation })).toMatchObject({ ids: ['second'] })
  // Nor does it wait for the replica when it begins now.
  const now = reader.notes.changes({ from: 'now', follow: false })
  expect((await now.next()).value).toMatchObject({ changes: [], caughtUp: true })
})

test('PH-9 lag is measured on the primary: what a replica has not got yet is behind too', async () => {
  await using reader = await openReader()
  await create('first')
  await replica.caughtUpWith(primary)
  const { continuation } = await readOn(reader.notes, 'beginning')
  await pauseReplay(true)
  await create('second')
  const page = await reader.notes.readPage({ range: FULL_RANGE, continuation })
  expect(page.changes).toEqual([])
  expect(await reader.notes.measureLag({ range: FULL_RANGE, continuation })).toMatchObject({
    remainingChanges: 1,
    isExact: true,
  })
})

test('ranges that the replica does not know yet are read from the primary, and waited for without haste', async () => {
  await using reader = await openReader()
  for (const key of ['a', 'b', 'c']) await create('before', key)
  await replica.caughtUpWith(primary)
  const follower = follow(reader.notes)
  await expect.poll(() => follower.seen.length).toBe(3)
  await pauseReplay(true)
  await notes.split((await rangeIds())[0] ?? '')
  // Until then the reader's process knows as little of it as the replica.
  expect(await reader.notes.readFeedRanges()).toHaveLength(2)
  await create('after', 'a')
  await create('after', 'b')
  await expect.poll(() => follower.seen.length).toBe(5)
  reader.toPrimary.take()
  reader.toReplica.take()
  await pause(1_000)
  const [atPrimary, atReplica] = [reader.toPrimary.take(), reader.toReplica.take()]
  expect(atPrimary).toBeLessThan(250)
  expect(atReplica).toBeLessThan(250)
  const [left = '', right = ''] = await rangeIds()
  await notes.merge(left, right)
  expect(await reader.notes.readFeedRanges()).toHaveLength(1)
  await create('merged')
  await expect.poll(() => follower.seen.length).toBe(6)
  await pauseReplay(false)
  await create('at last')
  await expect.poll(() => follower.seen.length).toBe(7)
  await follower.stop()
  expect(follower.seen.map(({ id }) => id).slice(-2)).toEqual(['merged', 'at last'])
})

test('commits that the replica has not got do not make readers look in haste', async () => {
  await using reader = await openReader()
  const follower = follow(reader.notes)
  await create('first')
  await expect.poll(() => follower.seen.length).toBe(1)
  await pauseReplay(true)
  reader.toPrimary.take()
  reader.toReplica.take()
  const startMs = performance.now()
  let commits = 0
  // By the same process too, which hears of each of them.
  for (; commits <= 100 || performance.now() < startMs + 1_000; commits++) {
    await reader.notes.upsert({ id: 'first', key: 'a', text: String(commits) })
  }
  const statements = reader.toReplica.take()
  const seconds = (performance.now() - startMs) / 1_000
  expect(statements / seconds).toBeLessThan(250)
  expect(follower.seen).toHaveLength(1)
  const { document: last } = await reader.notes.read('first', 'a')
  await pauseReplay(false)
  // A replay that takes its time shows versions in between.
  await expect.poll(() => follower.seen.at(-1)?.lsn).toBe(last?._lsn)
  await follower.stop()
})

test('a replica that is down, from the start or later, is replaced by the primary', async () => {
  await create('first')
  await replica.kill()
  await using reader = await openReader()
  expect(await readOn(reader.notes, 'beginning')).toMatchObject({ ids: ['first'] })
  const follower = follow(reader.notes)
  await create('while down')
  await expect.poll(() => follower.seen.length).toBe(2)
  await replica.start()
  await replica.caughtUpWith(primary)
  reader.toReplica.take()
  await expect.poll(() => reader.toReplica.take()).toBeGreaterThan(0)
  await replica.kill()
  await create('down again')
  await expect.poll(() => follower.seen.length).toBe(3)
  await follower.stop()
})

test('a page that the replica cancels because of replay is read from the primary', async () => {
  const admin = primary.query.bind(primary)
  await admin('CREATE TABLE t AS SELECT 1 AS n')
  await replica.caughtUpWith(primary)
  await using connections = new Connections({
    url: primary.url(),
    replicaUrl: replica.url(),
    clock: systemClock,
    random: systemRandom,
  })
  const slow =
    'SELECT pg_is_in_recovery() FROM t, pg_sleep(CASE WHEN pg_is_in_recovery() THEN 60 END)'
  const started = performance.now()
  const reading = connections.read({ name: 'slow', text: slow }, [], { from: 'replica' })
  const isRunning = `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE query LIKE '%pg_sleep(CASE%'
    AND state = 'active' AND pid <> pg_backend_pid()`
  await expect.poll(() => replica.query(isRunning)).toEqual([{ n: 1 }])
  await admin('LOCK TABLE t; DELETE FROM t; INSERT INTO t VALUES (2)')
  expect(await reading).toEqual([['f']])
  expect(performance.now() - started).toBeLessThan(20_000)
})

test('a replica that follows no more is not waited for longer than it may lag, and used again when it has caught up', async () => {
  await using reader = await openReader({ maxReplicaLagMs: 400 })
  const follower = follow(reader.notes)
  await create('first')
  await expect.poll(() => follower.seen.length).toBe(1)
  await pauseReplay(true)
  for (let count = 0; count < 3; count++) {
    const startMs = performance.now()
    await create(`missing ${count}`)
    await expect.poll(() => follower.seen.length).toBe(2 + count)
    expect(performance.now() - startMs).toBeGreaterThan(count === 0 ? 300 : 0)
  }
  await pauseReplay(false)
  await replica.caughtUpWith(primary)
  // Nothing is asked of it while it rests; then it is asked alone.
  await expect
    .poll(async () => {
      reader.toReplica.take()
      await pause(100)
      return reader.toReplica.take()
    })
    .toBeGreaterThan(0)
  await create('last')
  await expect.poll(() => follower.seen.length).toBe(5)
  await follower.stop()
})

test('a reader that waits is woken when the replica has the commit', async () => {
  await using reader = await openReader()
  const { continuation: begin } = await readOn(reader.notes, 'beginning')
  let continuation = begin
  const latencies: number[] = []
  for (let count = 0; count < 40; count++) {
    const signal = AbortSignal.timeout(5_000)
    const waiting = reader.notes
      .waitForChanges({ range: FULL_RANGE, continuation, timeoutMs: 5_000, signal })
      .then(() => performance.now())
    await pause(20 + (count % 20))
    await create(`${count}`)
    const committedMs = performance.now()
    latencies.push((await waiting) - committedMs)
    const page = await reader.notes.readPage({ range: FULL_RANGE, continuation })
    expect(page.changes.map(({ id }) => id)).toEqual([`${count}`])
    ;({ continuation } = page)
  }
  latencies.sort((a, b) => a - b)
  // Some milliseconds; on a busy machine more, but never the five seconds of who hears nothing.
  expect(latencies[20]).toBeLessThan(1_000)
})
