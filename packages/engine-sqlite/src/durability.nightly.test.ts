import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { FULL_RANGE, partitionKeyDefinition } from '@tidemark/contracts'
import type {
  CollectionRecord,
  DatabaseEngine,
  RangeCounter,
  StorageEngine,
} from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTestedEngine, type TestedEngineOptions } from './testing.ts'

const JUMP = 2 ** 20

let folder = ''
const engines: StorageEngine[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(async () => {
  await Promise.allSettled(engines.splice(0).map((engine) => engine.close()))
  await rm(folder, { recursive: true, force: true })
})

async function open(options: Partial<TestedEngineOptions> = {}): Promise<StorageEngine> {
  const engine = await openTestedEngine({ folder, ...options })
  engines.push(engine)
  return engine
}

/** Database and collection of an engine, made if they are not there. */
async function collectionIn(engine: StorageEngine): Promise<Opened> {
  if ((await engine.listDatabases()).length === 0) await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  const definition = {
    partitionKey: partitionKeyDefinition('/pk'),
    defaultTtl: null,
    indexingMode: 'consistent',
    pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
    allVersions: null,
    splitAboveBytes: null,
  } as const
  const present = await database.readCollection('coll')
  const collection = present ?? (await database.createCollection('coll', definition, [FULL_RANGE]))
  return { database, collection }
}

interface Opened {
  readonly database: DatabaseEngine
  readonly collection: CollectionRecord
}

async function write(
  { database, collection }: Opened,
  id: string,
  options: { readonly sync?: boolean } = {},
): Promise<number> {
  const body = JSON.stringify({ id })
  const operation = {
    kind: 'put',
    id,
    condition: { kind: 'none' },
    rid: 'r',
    body,
    ttl: 0,
  } as const
  const outcome = await database.commit({
    batches: [
      { collection: collection.number, epk: '1A', partitionKey: '["p"]', operations: [operation] },
    ],
    ...options,
  })
  if (outcome.kind !== 'committed') throw new Error(outcome.kind)
  return outcome.batches[0]?.lsn ?? 0
}

function now({ database, collection }: Opened): Promise<RangeCounter> {
  const start = { kind: 'now' } as const
  return database.resolveStart({ collection, range: FULL_RANGE, start, mode: 'latestVersion' })
}

/** What a process that is killed leaves: its files, and nothing closed. Here: a copy of that state. */
async function rawDatabase(): Promise<DatabaseSync> {
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each))
  return new DatabaseSync(join(folder, name ?? ''), { timeout: 5000 })
}

test('ST-6 after a relaxed process and its machine died, no LSN is given out again', async () => {
  const dying = await open({ durability: 'relaxed', bootId: 'boot-1' })
  const before = await collectionIn(dying)
  const lsn = await write(before, 'a')
  expect(await now(before)).toEqual({ lsn, epoch: 0, horizon: 0, horizons: [] })
  // Not closed: the machine went. What a reader saw last may be lost, so the counter leaps over it.
  const after = await collectionIn(await open({ bootId: 'boot-2' }))
  expect(await now(after)).toEqual({ lsn: lsn + JUMP, epoch: 1, horizon: 0, horizons: [] })
  expect(await write(after, 'b')).toBe(lsn + JUMP + 1)
  const page = await after.database.readFeedPage({
    collection: after.collection,
    range: FULL_RANGE,
    afterLsn: lsn,
    maxItems: 10,
    maxChars: 1e6,
  })
  expect(page).toMatchObject({ epoch: 1, lsn: lsn + JUMP + 1, caughtUp: true })
  expect(page.rows).toHaveLength(1)
  expect(await after.database.check()).toEqual([])
})

test('ST-6 after a machine died with commits that did not wait, no LSN is given out again', async () => {
  const dying = await collectionIn(await open({ bootId: 'boot-1' }))
  const other = await collectionIn(await open({ bootId: 'boot-1' }))
  await write(dying, 'a', { sync: false })
  const lsn = await write(other, 'b', { sync: false })
  const after = await collectionIn(await open({ bootId: 'boot-2' }))
  expect(await now(after)).toEqual({ lsn: lsn + JUMP, epoch: 1, horizon: 0, horizons: [] })
  expect(await write(after, 'c')).toBe(lsn + JUMP + 1)
  // Both marks were seen.
  await collectionIn(await open({ bootId: 'boot-3' }))
  expect(await now(after)).toMatchObject({ epoch: 1 })
})

test('commits that did not wait are visible at once, and flushed when the store is closed', async () => {
  const closed = await open({ bootId: 'boot-1' })
  const writing = await collectionIn(closed)
  const reading = await collectionIn(await open({ bootId: 'boot-1' }))
  await write(writing, 'a', { sync: false })
  const lsn = await write(writing, 'b', { sync: false })
  expect(await now(reading)).toMatchObject({ lsn })
  await writing.database.flush?.()
  await write(writing, 'c', { sync: false })
  await closed.close()
  await expect(writing.database.flush?.()).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
  const after = await collectionIn(await open({ bootId: 'boot-2' }))
  expect(await now(after)).toMatchObject({ lsn: lsn + 1, epoch: 0 })
})

test('ST-6 collections that the machine forgot do not give their numbers to others', async () => {
  const dying = await open({ durability: 'relaxed', bootId: 'boot-1' })
  const { collection } = await collectionIn(dying)
  const raw = await rawDatabase()
  // As after a loss of everything since: the collection was never made.
  raw.exec(`DELETE FROM collection; DELETE FROM pkrange; DELETE FROM pkrange_segment;
    UPDATE meta SET value = value - 1 WHERE name = 'nextCollection';
    UPDATE head SET catalog = catalog + 1`)
  raw.close()
  const again = await collectionIn(await open({ bootId: 'boot-2' }))
  expect(again.collection.number).toBeGreaterThan(collection.number)
  expect(again.collection.rid).not.toBe(collection.rid)
})

test('a new epoch begins once, not with every start', async () => {
  const dying = await open({ durability: 'relaxed', bootId: 'boot-1' })
  await write(await collectionIn(dying), 'a')
  await collectionIn(await open({ bootId: 'boot-2' }))
  const third = await open({ bootId: 'boot-3' })
  expect(await now(await collectionIn(third))).toMatchObject({ epoch: 1, horizon: 0, horizons: [] })
})

test('a relaxed process that was killed alone lost nothing: no new epoch', async () => {
  const killed = await open({ durability: 'relaxed', bootId: 'boot-1' })
  const lsn = await write(await collectionIn(killed), 'a')
  const after = await collectionIn(await open({ durability: 'relaxed', bootId: 'boot-1' }))
  expect(await now(after)).toEqual({ lsn, epoch: 0, horizon: 0, horizons: [] })
})

test('a relaxed store that was closed is durable: no new epoch', async () => {
  const closed = await open({ durability: 'relaxed', bootId: 'boot-1' })
  const lsn = await write(await collectionIn(closed), 'a')
  await closed.close()
  expect(await now(await collectionIn(await open({ bootId: 'boot-2' })))).toEqual({
    lsn,
    epoch: 0,
    horizon: 0,
    horizons: [],
  })
})

test('the default loses nothing and begins no epoch, however it ends', async () => {
  const dying = await open({ bootId: 'boot-1' })
  const lsn = await write(await collectionIn(dying), 'a')
  const after = await collectionIn(await open({ bootId: 'boot-2' }))
  expect(await now(after)).toEqual({ lsn, epoch: 0, horizon: 0, horizons: [] })
})

test('the clock of a store never goes back, not over a restart with a wrong clock either', async () => {
  const at = (wallMs: number): Partial<TestedEngineOptions> => ({
    clock: { wallMs: () => wallMs, monotonicMs: () => 0, sleep: () => Promise.resolve() },
  })
  const first = await open(at(1_700_000_000_000))
  const opened = await collectionIn(first)
  await write(opened, 'a')
  await first.close()
  const second = await collectionIn(await open(at(1_600_000_000_000)))
  expect(second.database.nowMs()).toBe(1_700_000_000_000)
  await write(second, 'b')
  const row = await second.database.readDocument({
    collection: second.collection,
    epk: '1A',
    partitionKey: '["p"]',
    id: 'b',
  })
  expect(row?.ts).toBe(1_700_000_000)
})

test('far above 2 ** 32 LSNs a page has its own rows only', async () => {
  const engine = await open()
  await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  const collection = await database.createCollection(
    'coll',
    {
      partitionKey: partitionKeyDefinition('/pk'),
      defaultTtl: null,
      indexingMode: 'consistent',
      pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
      allVersions: null,
      splitAboveBytes: null,
    },
    [
      { minInclusive: '', maxExclusive: '80' },
      { minInclusive: '80', maxExclusive: 'FF' },
    ],
  )
  const raw = await rawDatabase()
  raw.exec('UPDATE segment SET base = 4294967296, lsn = 4294967296')
  raw.exec(`UPDATE head SET catalog = catalog + 1`)
  raw.close()
  const put = (id: string) =>
    ({
      kind: 'put',
      id,
      condition: { kind: 'none' },
      rid: 'r',
      body: JSON.stringify({ id }),
      ttl: 0,
    }) as const
  const commit = (epk: string, ...ids: string[]) =>
    database.commit({
      batches: [
        { collection: collection.number, epk, partitionKey: '["p"]', operations: ids.map(put) },
      ],
    })
  // Both ranges have the same LSNs, and the second segment's row numbers follow on the first's.
  await commit('10', 'low-1', 'low-2', 'low-3')
  await commit('90', 'high-1', 'high-2', 'high-3')
  await commit('90', 'high-1')
  const page = await database.readFeedPage({
    collection,
    range: { minInclusive: '80', maxExclusive: 'FF' },
    afterLsn: 0,
    maxItems: 1,
    maxChars: 1e6,
  })
  const ids = page.rows.map(([, , body]) => (JSON.parse(body) as { id: string }).id)
  expect(ids).toEqual(['high-2', 'high-3'])
  expect(page.lsn).toBe(2 ** 32 + 3)
})
