import { FULL_RANGE, systemClock } from '@tidemark/contracts'
import type { Collection, Store } from '@tidemark/store'
import {
  startPgBouncer,
  startPostgresProcess,
  type PgBouncer,
  type PostgresProcess,
} from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PostgresEngineOptions } from './options.ts'
import { openAt, type Note } from './store-with-faults.fixture.ts'

let server: PostgresProcess
let pooler: PgBouncer

beforeAll(async () => {
  server = await startPostgresProcess()
  // Fewer connections to the server than to the pooler, so that sessions do change hands.
  const settings = { default_pool_size: '3', max_client_conn: '200' }
  pooler = await startPgBouncer(server, { settings })
})
afterAll(async () => {
  await pooler[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** The same database directly, and through the pooler. */
async function addresses(): Promise<{ readonly direct: string; readonly pooled: string }> {
  const direct = await server.createDatabase()
  return { direct, pooled: pooler.url(new URL(direct).pathname.slice(1)) }
}

/** One of each kind of call, by several at once. */
async function useEverything(store: Store): Promise<void> {
  const database = await store.createDatabase('db')
  const notes = await database.createCollection<Note>({
    id: 'notes',
    partitionKey: '/key',
    allVersions: { retentionSeconds: 3600, previousImages: true },
  })
  const keys = Array.from({ length: 40 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => notes.create({ id: 'first', key, text: 'created' })))
  await Promise.all(keys.map((key) => notes.upsert({ id: 'first', key, text: 'changed' })))
  await expect(notes.create({ id: 'first', key: 'k0', text: '' })).rejects.toMatchObject({
    code: 'ERR_EXISTS',
  })
  await notes.batch('k1', [
    { kind: 'create', document: { id: 'second', key: 'k1', text: '' } },
    { kind: 'delete', id: 'first' },
  ])
  const put = (key: string) => ({ kind: 'put', document: { id: 'third', key, text: '' } }) as const
  await database.commitAtomically(
    ['k2', 'k3'].map((key) => ({ collection: notes, operation: put(key) })),
  )
  await notes.updateSettings({ defaultTtl: 3600 })
  const [range] = await notes.readFeedRanges()
  const [left, right] = await notes.split(range?.id ?? '')
  expect(await notes.count()).toBe(42)
  await notes.merge(left.id, right.id)
  await store.runMaintenance()
  expect((await notes.readDocuments({ maxItemCount: 100 })).documents).toHaveLength(42)
  expect(await notes.read('second', 'k1')).toMatchObject({ document: { id: 'second' } })
  const counts: Record<string, number> = {}
  for (const mode of ['latestVersion', 'allVersions'] as const) {
    counts[mode] = 0
    for await (const page of notes.changes({ from: 'beginning', follow: false, mode })) {
      counts[mode] += page.changes.length
    }
  }
  expect(counts).toEqual({ latestVersion: 42, allVersions: 84 })
  expect(await store.check()).toEqual([])
  await database.deleteCollection('notes')
}

/** Two processes through one pooler: how long one waits for the other's commits, the middle one of some, in ms. */
async function latencyBetween(url: string, options: PostgresEngineOptions): Promise<number> {
  await using writer = await openAt(url, options)
  await using reader = await openAt(url, options)
  const open = (store: Store): Promise<Collection<Note>> =>
    store.database('db').createCollectionIfNotExists<Note>({ id: 'l', partitionKey: '/key' })
  const written = await open(writer)
  const read = await open(reader)
  let { continuation } = await read.resolveStart({ range: FULL_RANGE, start: 'now' })
  const latencies: number[] = []
  for (let count = 0; count < 15; count++) {
    const signal = AbortSignal.timeout(10_000)
    const wait = { range: FULL_RANGE, continuation, timeoutMs: 10_000, signal }
    const woken = read.waitForChanges(wait).then(() => performance.now())
    await systemClock.sleep(25 + count, signal)
    await written.upsert({ id: String(count), key: 'a', text: '' })
    const committedMs = performance.now()
    latencies.push((await woken) - committedMs)
    const page = await read.readPage({ range: FULL_RANGE, continuation })
    expect(page.changes).toHaveLength(1)
    ;({ continuation } = page)
  }
  return latencies.toSorted((a, b) => a - b)[7] ?? Number.NaN
}

test('everything works through a pooler in transaction mode with prepared statements, which it keeps from 1.21 on', async () => {
  const { pooled } = await addresses()
  await using store = await openAt(pooled)
  await useEverything(store)
})

test('everything works through a pooler that loses prepared statements, which the engine finds out', async () => {
  const [major, minor] = pooler.version
  const canKeep = major > 1 || minor >= 21
  const settings = { default_pool_size: '3', ...(canKeep ? { max_prepared_statements: '0' } : {}) }
  await using forgetful = await startPgBouncer(server, { settings })
  const { direct } = await addresses()
  await using store = await openAt(forgetful.url(new URL(direct).pathname.slice(1)))
  await useEverything(store)
})

test('everything works through a pooler without prepared statements', async () => {
  const { pooled } = await addresses()
  await using store = await openAt(pooled, { preparedStatements: false })
  await useEverything(store)
})

test("several processes commit and read through one pooler at once, and none hears what is another's", async () => {
  const { pooled } = await addresses()
  await using first = await openAt(pooled)
  await using second = await openAt(pooled)
  await Promise.all(
    [first, second].map(async (store, process) => {
      const notes = await store
        .database('db')
        .createCollectionIfNotExists<Note>({ id: 'shared', partitionKey: '/key' })
      const work = Array.from({ length: 60 }, async (_, index) => {
        const key = `${process}-${index}`
        await notes.create({ id: key, key, text: key })
        expect(await notes.read(key, key)).toMatchObject({ document: { text: key } })
      })
      await Promise.all(work)
    }),
  )
  expect(await first.database('db').collection('shared').count()).toBe(120)
})

test('readers are woken at once where they listen past the pooler, and find commits by looking where they cannot', async () => {
  const { direct, pooled } = await addresses()
  const looking = await latencyBetween(pooled, {})
  const listening = await latencyBetween(pooled, { listenUrl: direct })
  // Some milliseconds; on a busy machine more, but never the ten seconds of who hears nothing.
  expect(looking).toBeLessThan(1_000)
  expect(listening).toBeLessThan(looking + 1_000)
})

test('a statement that runs too long behind a pooler is ended by the server', async () => {
  const { direct, pooled } = await addresses()
  await using store = await openAt(pooled, { statementTimeoutMs: 2_000 })
  const database = await store.createDatabase('db')
  const notes = await database.createCollection<Note>({ id: 'notes', partitionKey: '/key' })
  const client = new Client(direct)
  await client.connect()
  try {
    await client.query('BEGIN; LOCK TABLE tidemark.segment')
    await expect(notes.create({ id: 'a', key: 'a', text: '' })).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    })
    await client.query('ROLLBACK')
    expect(await notes.count()).toBe(0)
  } finally {
    await client.end()
  }
})
