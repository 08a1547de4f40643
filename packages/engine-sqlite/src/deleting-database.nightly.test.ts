import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { StorageEngine } from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { commitOne, openCollection } from './several-processes.child.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

const CHILD = fileURLToPath(new URL('./deleting-database.child.ts', import.meta.url))

let folder = ''
const engines: StorageEngine[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(async () => {
  await Promise.allSettled(engines.splice(0).map((engine) => engine.close()))
  await rm(folder, { recursive: true, force: true })
})

async function open(lockTimeoutMs?: number): Promise<StorageEngine> {
  const engine = await openSqliteEngine({ folder, lockTimeoutMs })
  engines.push(engine)
  return engine
}

async function namesOf(engine: StorageEngine): Promise<readonly string[]> {
  return (await engine.listDatabases()).map(({ id }) => id)
}

async function filesOfDatabases(): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith('db-'))
}

/** Waits for a lock: the engine may be at work in the file. */
function openRaw(file: string): DatabaseSync {
  return new DatabaseSync(join(folder, file), { timeout: 5000 })
}

/** Lets one kind of statement on a file fail, as a full disk does. Answers how to end that. */
function failing(file: string, event: string): () => void {
  const raw = openRaw(file)
  const body = `BEGIN SELECT RAISE(ABORT, 'no room'); END`
  raw.exec(`CREATE TRIGGER fault BEFORE ${event} ${body}`)
  raw.close()
  return () => {
    const again = openRaw(file)
    again.exec('DROP TRIGGER fault')
    again.close()
  }
}

async function assertWhole(engine: StorageEngine): Promise<void> {
  expect(await namesOf(engine)).toEqual(['db'])
  const { database, collection } = await openCollection(engine)
  expect(await commitOne(database, collection, { id: 'b' })).toMatchObject({ kind: 'committed' })
  expect(await database.countDocuments(collection)).toBe(2)
}

async function assertGone(engine: StorageEngine): Promise<void> {
  expect(await namesOf(engine)).toEqual([])
  await expect(engine.openDatabase('db')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  await expect(engine.deleteDatabase('db')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
}

async function killedAt(kind: 'create' | 'delete', dieAt: string): Promise<void> {
  const child = fork(CHILD, [folder, kind, dieAt], { execArgv: ['--conditions=@tidemark/source'] })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
}

test('a deletion that another program keeps from its lock leaves the database whole, for every process', async () => {
  const [engine, other] = [await open(500), await open()]
  const { database, collection } = await openCollection(engine)
  await commitOne(database, collection, { id: 'a' })
  const [file = ''] = await filesOfDatabases()
  const lock = openRaw(file)
  lock.exec('BEGIN IMMEDIATE')
  await expect(engine.deleteDatabase('db')).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    retryable: true,
  })
  lock.exec('ROLLBACK')
  lock.close()
  await assertWhole(engine)
  await assertWhole(other)
  await other.deleteDatabase('db')
  await assertGone(engine)
  expect(await filesOfDatabases()).toEqual([])
})

test('a deletion that the disk refuses leaves the database whole', async () => {
  const engine = await open()
  const { database, collection } = await openCollection(engine)
  await commitOne(database, collection, { id: 'a' })
  const [file = ''] = await filesOfDatabases()
  const end = failing(file, 'UPDATE ON meta')
  await expect(engine.deleteDatabase('db')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  await assertWhole(engine)
  await assertWhole(await open())
  end()
  await engine.deleteDatabase('db')
  await assertGone(engine)
})

test('a deletion that fails after its mark is one: no process acknowledges a write, and a later start ends it', async () => {
  const [engine, other] = [await open(), await open()]
  const { database, collection } = await openCollection(other)
  await commitOne(database, collection, { id: 'a' })
  const end = failing('catalog.sqlite', 'DELETE ON database')
  await engine.deleteDatabase('db')
  await expect(commitOne(database, collection, { id: 'b' })).rejects.toMatchObject({
    code: 'ERR_NOT_FOUND',
  })
  await assertGone(engine)
  await assertGone(other)
  await assertGone(await open())
  // The fault was there: it has not been taken away so far.
  expect(await filesOfDatabases()).not.toEqual([])
  end()
  // The name is free, also before a start has ended the deletion.
  await engine.createDatabase('db')
  const again = await openCollection(other)
  expect(again.database.record.rid).not.toBe(database.record.rid)
  const third = await open()
  expect(await namesOf(third)).toEqual(['db'])
  expect((await filesOfDatabases()).filter((name) => name.endsWith('.sqlite'))).toHaveLength(1)
})

test('a damaged database that cannot be taken off the list stays on it', async () => {
  const engine = await open()
  await engine.createDatabase('db')
  const [file = ''] = await filesOfDatabases()
  const raw = openRaw(file)
  raw.exec('DROP TABLE meta')
  raw.close()
  const end = failing('catalog.sqlite', 'DELETE ON database')
  await expect(engine.deleteDatabase('db')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  expect(await namesOf(await open())).toEqual(['db'])
  end()
  await engine.deleteDatabase('db')
  expect(await namesOf(engine)).toEqual([])
  expect(await filesOfDatabases()).toEqual([])
})

test('a creation that fails leaves no file', async () => {
  const engine = await open()
  const end = failing('catalog.sqlite', 'INSERT ON database')
  await expect(engine.createDatabase('db')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  expect(await filesOfDatabases()).toEqual([])
  end()
  const sync = vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
    throw Object.assign(new Error('EIO: fsync'), { errno: -5, code: 'EIO' })
  })
  syncBuiltinESMExports()
  await expect(engine.createDatabase('db')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  sync.mockRestore()
  syncBuiltinESMExports()
  expect(await filesOfDatabases()).toEqual([])
  await engine.createDatabase('db')
  await expect(engine.createDatabase('db')).rejects.toMatchObject({ code: 'ERR_EXISTS' })
  expect(await filesOfDatabases()).toHaveLength(1)
})

test.each([
  ['after the mark', 'DELETE FROM database'],
  ['before the files are removed', 'files'],
])('a process killed while it deletes, %s: the next start ends it', async (_where, at) => {
  const engine = await open()
  const { database, collection } = await openCollection(engine)
  await killedAt('delete', at)
  expect(await namesOf(engine)).toEqual([])
  expect(await filesOfDatabases()).not.toEqual([])
  expect(await namesOf(await open())).toEqual([])
  expect(await filesOfDatabases()).toEqual([])
  const late = commitOne(database, collection, { id: 'b' })
  await expect(late).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
})

test('a process killed before the note of its deletion leaves the database whole', async () => {
  const engine = await open()
  const { database, collection } = await openCollection(engine)
  await commitOne(database, collection, { id: 'a' })
  await killedAt('delete', 'INSERT OR IGNORE INTO meta')
  await assertWhole(engine)
  await assertWhole(await open())
})

test('a process killed while it creates leaves a file that the next start removes, and no other', async () => {
  const engine = await open()
  await openCollection(engine)
  await killedAt('create', 'INSERT INTO database')
  expect((await filesOfDatabases()).filter((name) => name.endsWith('.sqlite'))).toHaveLength(2)
  const after = await open()
  expect(await namesOf(after)).toEqual(['db'])
  expect((await filesOfDatabases()).filter((name) => name.endsWith('.sqlite'))).toHaveLength(1)
})

test('a writer with commits that do not wait for the disk survives a deletion by another program', async () => {
  const [engine, other] = [await open(), await open()]
  const { database, collection } = await openCollection(engine)
  const later = { sync: false }
  await commitOne(database, collection, { id: 'a', ...later })
  await commitOne(database, collection, { id: 'b', ...later })
  await other.deleteDatabase('db')
  await database.flush?.()
  await expect(commitOne(database, collection, { id: 'c' })).rejects.toMatchObject({
    code: 'ERR_NOT_FOUND',
  })
  await engine.createDatabase('db')
  const again = await openCollection(engine)
  expect(await commitOne(again.database, again.collection, { id: 'd' })).toMatchObject({
    kind: 'committed',
  })
})
