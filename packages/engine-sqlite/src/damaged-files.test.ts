import {
  cp,
  mkdtemp,
  open as openFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { FULL_RANGE, partitionKeyDefinition, systemClock } from '@tidemark/contracts'
import type {
  CollectionRecord,
  CommitRequest,
  DatabaseEngine,
  StorageEngine,
} from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'

let parent = ''
let folder = ''
const engines: StorageEngine[] = []
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'store')
})
afterEach(async () => {
  await Promise.allSettled(engines.splice(0).map((engine) => engine.close()))
  await rm(parent, { recursive: true, force: true })
})

async function open(options: Partial<SqliteEngineOptions> = {}): Promise<StorageEngine> {
  const engine = await openSqliteEngine({ folder, ...options })
  engines.push(engine)
  return engine
}

function request(collection: CollectionRecord, id: string): CommitRequest {
  const body = JSON.stringify({ id, filler: 'x'.repeat(2000) })
  const operation = {
    kind: 'put',
    id,
    condition: { kind: 'none' },
    rid: 'r',
    body,
    ttl: 0,
  } as const
  return {
    batches: [
      { collection: collection.number, epk: '1A', partitionKey: '["p"]', operations: [operation] },
    ],
  }
}

/** A store with a database of one collection, and how many documents. */
async function filled(engine: StorageEngine, documents = 50): Promise<DatabaseEngine> {
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
    [FULL_RANGE],
  )
  for (let n = 0; n < documents; n++) await database.commit(request(collection, `d${n}`))
  return database
}

async function collectionOf(database: DatabaseEngine): Promise<CollectionRecord> {
  const collection = await database.readCollection('coll')
  if (collection === undefined) throw new Error('the collection is not there')
  return collection
}

async function databaseFile(): Promise<string> {
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each))
  if (name === undefined) throw new Error('there is no database file')
  return join(folder, name)
}

async function overwrite(file: string, position: number, bytes: Buffer): Promise<void> {
  const handle = await openFile(file, 'r+')
  await handle.write(bytes, 0, bytes.length, position)
  await handle.close()
}

const UNAVAILABLE = { code: 'ERR_STORE_UNAVAILABLE' }
const damaged = (file: string): unknown =>
  expect.objectContaining({ code: 'ERR_STORE_DAMAGED', message: expect.stringContaining(file) })

test('a database file that is none is damage, and is named', async () => {
  const engine = await open()
  await filled(engine)
  await engine.close()
  const file = await databaseFile()
  await overwrite(file, 0, Buffer.alloc(4096, 7))
  const reopened = await open()
  expect(await reopened.listDatabases()).toHaveLength(1)
  await expect(reopened.openDatabase('db')).rejects.toEqual(damaged(file))
  // It can still be got rid of, and others beside it are untouched.
  await reopened.createDatabase('other')
  await reopened.deleteDatabase('db')
  expect((await reopened.listDatabases()).map(({ id }) => id)).toEqual(['other'])
})

test('an empty file and a missing one are damage, and no new file takes their place', async () => {
  const engine = await open()
  await filled(engine, 1)
  await engine.close()
  const file = await databaseFile()
  const reopened = await open()
  await writeFile(file, '')
  await expect(reopened.openDatabase('db')).rejects.toEqual(damaged(file))
  await rm(file)
  await expect(reopened.openDatabase('db')).rejects.toEqual(damaged(file))
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('pages overwritten inside a file are found, by reads or by check', async () => {
  const engine = await open()
  await filled(engine, 300)
  await engine.close()
  const file = await databaseFile()
  const { size } = await stat(file)
  await overwrite(file, 4096 * 20, Buffer.alloc(size - 4096 * 25, 0xa5))
  const database = await (await open()).openDatabase('db')
  const collection = await collectionOf(database)
  const read = database.readFeedPage({
    collection,
    range: FULL_RANGE,
    afterLsn: 0,
    maxItems: 1000,
    maxChars: 1e9,
  })
  await expect(read).rejects.toEqual(damaged(file))
  const found = await database.check().then(
    (problems) => problems.length > 0,
    (error: { code: string }) => error.code === 'ERR_STORE_DAMAGED',
  )
  expect(found).toBe(true)
})

test('a catalog that is missing or none beside databases is damage', async () => {
  const engine = await open()
  await filled(engine, 1)
  await engine.close()
  const file = join(folder, 'catalog.sqlite')
  await writeFile(file, 'x'.repeat(8192))
  await expect(open()).rejects.toEqual(damaged(file))
  await rm(file)
  await expect(open()).rejects.toEqual(damaged(file))
})

test('a database of a newer schema is refused', async () => {
  const engine = await open()
  await filled(engine, 1)
  await engine.close()
  const raw = new DatabaseSync(await databaseFile(), { timeout: 5000 })
  raw.exec(`UPDATE meta SET value = 99 WHERE name = 'tables'`)
  raw.close()
  await expect((await open()).openDatabase('db')).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
  })
})

test('a file that another program holds is unavailable, after a bounded wait, and free afterwards', async () => {
  const engine = await open({ lockTimeoutMs: 50 })
  const database = await filled(engine, 1)
  const collection = await collectionOf(database)
  const other = new DatabaseSync(await databaseFile(), { timeout: 5000 })
  other.exec('BEGIN IMMEDIATE')
  await expect(database.commit(request(collection, 'x'))).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    retryable: true,
    message: expect.stringContaining(await databaseFile()),
  })
  // Readers are not in its way.
  expect(await database.countDocuments(collection)).toBe(1)
  other.exec('ROLLBACK')
  other.close()
  expect(await database.commit(request(collection, 'x'))).toMatchObject({ kind: 'committed' })
  expect(await database.check()).toEqual([])
})

test('nothing is acknowledged into a folder that vanished, nor kept of it', async () => {
  const engine = await open()
  const database = await filled(engine, 1)
  const collection = await collectionOf(database)
  await rename(folder, join(parent, 'moved'))
  await expect(database.commit(request(collection, 'refused'))).rejects.toMatchObject(UNAVAILABLE)
  await expect(engine.createDatabase('new')).rejects.toMatchObject(UNAVAILABLE)
  await rename(join(parent, 'moved'), folder)
  expect(await engine.listDatabases()).toMatchObject([{ id: 'db' }])
  expect(await database.countDocuments(collection)).toBe(1)
  expect(await database.commit(request(collection, 'x'))).toMatchObject({ kind: 'committed' })
})

/** Where another store, or a copy of this one with the same names, is put in its place. */
test.each([
  ['another store', async () => filled(await open(), 1)],
  [
    'a copy',
    async () => {
      const filter = (path: string): boolean => !path.includes('doorbells')
      await cp(join(parent, 'moved'), folder, { recursive: true, filter })
    },
  ],
])('who has a folder open of which %s takes the place is told within a second', async (_, put) => {
  let passedMs = 0
  const monotonicMs = (): number => systemClock.monotonicMs() + passedMs
  const engine = await open({ clock: { ...systemClock, monotonicMs } })
  const database = await filled(engine, 1)
  const collection = await collectionOf(database)
  const page = { collection, range: FULL_RANGE, afterLsn: 0, maxItems: 1, maxChars: 1 }
  const { signal } = new AbortController()
  const waiting = { ...page, timeoutMs: 60_000, signal }
  const told = expect(database.waitForCommit({ ...waiting, afterLsn: 1 })).rejects.toMatchObject(
    UNAVAILABLE,
  )

  await rename(folder, join(parent, 'moved'))
  await put()
  passedMs = 1_000
  await told
  for (const call of [
    () => database.waitForCommit(waiting),
    () => database.readFeedPage(page),
    () => database.countDocuments(collection),
    () => database.commit(request(collection, 'x')),
    () => engine.listDatabases(),
    () => engine.readDatabase('db'),
    () => engine.openDatabase('db'),
    () => engine.createDatabase('new'),
    () => engine.deleteDatabase('db'),
  ]) {
    await expect(call()).rejects.toMatchObject(UNAVAILABLE)
  }
  await Promise.allSettled(engines.splice(1).map((each) => each.close()))
  await rm(folder, { recursive: true })
  await rename(join(parent, 'moved'), folder)
  expect((await database.readFeedPage(page)).rows).toHaveLength(1)
  expect(await engine.listDatabases()).toMatchObject([{ id: 'db' }])
})

test('who reads a database that another process deleted long ago is told that it is not there', async () => {
  let passedMs = 0
  const monotonicMs = (): number => systemClock.monotonicMs() + passedMs
  const database = await filled(await open({ clock: { ...systemClock, monotonicMs } }), 1)
  const collection = await collectionOf(database)
  await (await open()).deleteDatabase('db')
  passedMs = 2_000
  await expect(database.countDocuments(collection)).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
})

test('contradictions between documents, index, ranges and counters are listed', async () => {
  const engine = await open()
  const database = await filled(engine, 5)
  expect(await database.check()).toEqual([])
  const raw = new DatabaseSync(await databaseFile(), { timeout: 5000 })
  raw.exec(`UPDATE segment SET lsn = 3`)
  expect((await database.check()).join()).toMatch(/above the counter 3/)
  raw.exec(`UPDATE segment SET lsn = 5; UPDATE doc SET lsn = 1 WHERE id = 'd3'`)
  expect((await database.check()).join()).toMatch(/LSN 1 after 3/)
  raw.exec(`UPDATE doc SET lsn = 4 WHERE id = 'd3'; UPDATE doc SET epk = 'FF' WHERE id = 'd2'`)
  expect((await database.check()).join()).toMatch(/in the index and in no feed/)
  raw.exec(`UPDATE doc SET epk = '1A' WHERE id = 'd2'; UPDATE pkrange SET max = '80'`)
  raw.exec(`UPDATE head SET catalog = catalog + 1`)
  expect((await database.check()).join()).toMatch(/end at "80"/)
  raw.close()
})

test.each([
  [
    'view',
    'CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n',
  ],
  ['table', 'CREATE VIRTUAL TABLE more USING fts5(text)'],
])(
  'a catalog that has a %s of somebody else is refused before anything is asked of it',
  async (kind, statement) => {
    const engine = await open()
    await engine.close()
    const catalog = new DatabaseSync(join(folder, 'catalog.sqlite'))
    catalog.exec(statement)
    catalog.close()
    await expect(open()).rejects.toMatchObject({
      code: 'ERR_STORE_DAMAGED',
      message: expect.stringContaining(`${kind} more`),
    })
  },
)
