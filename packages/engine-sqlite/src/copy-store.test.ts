import { copyFile, cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FULL_RANGE, systemClock, type Clock, type DocumentBody } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import { SteppedClock } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copySqliteStore, markSqliteStoreRestored } from './copy-store.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

let parent = ''
let folder = ''
let backup = ''
const stores: Store[] = []
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'store')
  backup = join(parent, 'backup')
})
afterEach(async () => {
  await Promise.allSettled(stores.splice(0).map((store) => store.close()))
  await rm(parent, { recursive: true, force: true })
})

interface Doc extends DocumentBody {
  readonly pk: string
}

async function open(from = folder, clock: Clock = systemClock): Promise<Store> {
  const engine = await openSqliteEngine({ folder: from, durability: 'relaxed', clock })
  const store = await Store.open({ engine, maintenance: 'manual' })
  stores.push(store)
  return store
}

function collectionOf(store: Store): Promise<Collection<Doc>> {
  return store
    .database('db')
    .createCollectionIfNotExists<Doc>({ id: 'coll', partitionKey: '/pk', defaultTtl: -1 })
}

async function write(collection: Collection<Doc>, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) await collection.create({ id: `d${n}`, pk: `p${n}` })
}

/** What a reader gets from a position on, and where it stands then. */
async function read(
  collection: Collection<Doc>,
  from: 'beginning' | { readonly continuation: string } = 'beginning',
): Promise<{ readonly ids: readonly string[]; readonly continuation: string }> {
  const ids: string[] = []
  let continuation = ''
  for await (const page of collection.changes({ from, follow: false })) {
    ids.push(
      ...page.changes.map((change) => (change.kind === 'document' ? change.document.id : '')),
    )
    continuation = page.continuation
  }
  return { ids: ids.toSorted(), continuation }
}

/** Ten documents before the copy, and a reader who has seen five more. */
async function aheadOf(copy: () => Promise<unknown>): Promise<string> {
  const store = await open()
  const collection = await collectionOf(store)
  await write(collection, 0, 10)
  await copy()
  await write(collection, 10, 5)
  const { ids, continuation } = await read(collection)
  expect(ids).toHaveLength(15)
  await store.close()
  return continuation
}

async function assertSeesAll(store: Store, continuation: string): Promise<void> {
  const collection = await collectionOf(store)
  expect(await collection.count()).toBe(10)
  // As many as were lost, and more: LSNs of before would hide the first five.
  await write(collection, 20, 8)
  const wanted = Array.from({ length: 8 }, (_, n) => `d${20 + n}`)
  const lag = await collection.measureLag({ range: FULL_RANGE, continuation })
  expect(lag).toMatchObject({ remainingChanges: 8, isExact: true })
  const { ids, continuation: next } = await read(collection, { continuation })
  expect(ids).toEqual(wanted)
  await write(collection, 30, 1)
  expect((await read(collection, { continuation: next })).ids).toEqual(['d30'])
  expect((await read(collection)).ids).toHaveLength(19)
  expect(await store.check()).toEqual([])
}

async function removeStore(): Promise<void> {
  await rm(folder, { recursive: true })
}

test('CF-8 a reader ahead of a restored backup sees everything that is written from then on', async () => {
  const continuation = await aheadOf(() => copySqliteStore({ from: folder, to: backup }))
  await removeStore()
  await copySqliteStore({ from: backup, to: folder })
  await assertSeesAll(await open(), continuation)
})

test('CF-8 a reader ahead of a folder that was copied by hand sees everything that is written from then on', async () => {
  const continuation = await aheadOf(async () => {
    // With its log, as it is at a moment in which nobody writes.
    await cp(folder, backup, { recursive: true, filter: (path) => !path.includes('doorbells') })
  })
  await removeStore()
  await cp(backup, folder, { recursive: true })
  await assertSeesAll(await open(), continuation)
})

test('CF-8 files that were copied over those of before are taken for restored when they are marked', async () => {
  const continuation = await aheadOf(async () => {
    await cp(folder, backup, { recursive: true, filter: (path) => !path.includes('doorbells') })
  })
  for (const name of await readdir(backup)) {
    if (name.endsWith('.sqlite') || name.endsWith('-wal')) {
      // Into the same file, which no one can tell from one that was just written to.
      await copyFile(join(backup, name), join(folder, name))
    }
  }
  await markSqliteStoreRestored(folder)
  await assertSeesAll(await open(), continuation)
})

test('CF-8 a store restored a second time skips what may have been lost, also when its clock is behind the first time', async () => {
  const first = await open()
  await write(await collectionOf(first), 0, 1)
  await first.close()
  await markSqliteStoreRestored(folder)
  const second = await open()
  const collection = await collectionOf(second)
  await write(collection, 1, 1)
  await copySqliteStore({ from: folder, to: backup })
  await write(collection, 2, 5)
  const { continuation } = await read(collection)
  await second.close()
  const behind = new SteppedClock(systemClock.wallMs() - 3_600_000)
  const restored = await collectionOf(await open(backup, behind))
  await write(restored, 10, 3)
  expect((await read(restored, { continuation })).ids).toEqual(['d10', 'd11', 'd12'])
})

test('every database of a store that is marked as restored begins an epoch', async () => {
  const store = await open()
  const ids = ['db', 'other']
  const collections = (from: Store): Promise<Collection<Doc>[]> =>
    Promise.all(
      ids.map(async (id) => {
        await from.createDatabaseIfNotExists(id)
        const options = { id: 'coll', partitionKey: '/pk' }
        return from.database(id).createCollectionIfNotExists<Doc>(options)
      }),
    )
  for (const collection of await collections(store)) await write(collection, 0, 1)
  await store.close()
  expect(await markSqliteStoreRestored(folder)).toMatchObject({ databases: ids })
  for (const collection of await collections(await open())) {
    const { document } = await collection.create({ id: 'next', pk: 'a' })
    expect(document._lsn).toBeGreaterThan(1e15)
  }
})

test('a copy begins its epoch once, a store that only goes on begins none', async () => {
  await aheadOf(() => copySqliteStore({ from: folder, to: backup }))
  const newest = async (from: string): Promise<number> => {
    const engine = await openSqliteEngine({ folder: from })
    const database = await engine.openDatabase('db')
    const collection = await database.readCollection('coll')
    if (collection === undefined) throw new Error('no collection')
    const { lsn, epoch } = await database.resolveStart({
      collection,
      range: FULL_RANGE,
      start: { kind: 'now' },
      mode: 'latestVersion',
    })
    await engine.close()
    expect(epoch).toBe(from === backup ? 1 : 0)
    return lsn
  }
  expect(await newest(folder)).toBe(15)
  const first = await newest(backup)
  expect(first).toBeGreaterThan(1e15)
  expect(await newest(backup)).toBe(first)
})

test('a backup is made while others write, has whole databases only, and is told apart from half of one', async () => {
  const store = await open()
  const collection = await collectionOf(store)
  await store.createDatabaseIfNotExists('other')
  const writing = write(collection, 0, 200)
  const copied = await copySqliteStore({ from: folder, to: backup })
  await writing
  expect(copied).toMatchObject({ databases: ['db', 'other'] })
  const opened = await open(backup)
  expect(await opened.check()).toEqual([])
  expect(await (await collectionOf(opened)).count()).toBeLessThanOrEqual(200)
  await expect(copySqliteStore({ from: folder, to: backup })).rejects.toMatchObject({
    code: 'ERR_STORE_IN_USE',
  })
  await expect(copySqliteStore({ from: folder, to: join(folder, 'b') })).rejects.toMatchObject({
    code: 'ERR_STORE_IN_USE',
  })
  await expect(copySqliteStore({ from: parent, to: join(parent, 'b') })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
  const [file = ''] = (await readdir(folder)).filter((name) => /^db-.*sqlite$/.test(name))
  await writeFile(join(folder, file), 'x'.repeat(10_000))
  const half = join(parent, 'half')
  await expect(copySqliteStore({ from: folder, to: half })).rejects.toMatchObject({
    code: 'ERR_STORE_DAMAGED',
  })
  await expect(openSqliteEngine({ folder: half })).rejects.toMatchObject({
    code: 'ERR_STORE_IN_USE',
  })
})

test('readers get past the gap before an epoch, also in folded segments and where documents expire', async () => {
  const store = await open()
  const collection = await collectionOf(store)
  await write(collection, 0, 20)
  await store.close()
  await markSqliteStoreRestored(folder)
  const second = await open()
  const again = await collectionOf(second)
  await write(again, 20, 20)
  const [left, right] = await again.split('0')
  await write(again, 40, 20)
  await again.merge(left.id, right.id)
  const { continuation } = await read(again)
  while ((await second.runMaintenance()).folded > 0);
  // Also a reader of a part, who looks for its rows among others' in windows of LSNs.
  const part = { ...FULL_RANGE, minInclusive: '0001' }
  const start = await again.resolveStart({ range: part, start: 'beginning' })
  const lag = await again.measureLag({ range: part, ...start })
  expect(lag).toMatchObject({ remainingChanges: 60, isExact: true })
  expect((await read(again)).ids).toHaveLength(60)
  await write(again, 60, 3)
  expect((await read(again, { continuation })).ids).toEqual(['d60', 'd61', 'd62'])
  expect(await second.check()).toEqual([])
})
