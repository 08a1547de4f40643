import { execFileSync } from 'node:child_process'
import {
  lstat,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { InvalidOptionError } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import type { StorageEngine } from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copySqliteStore, markSqliteStoreRestored } from './copy-store.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

/*
 * A store's folder may have come from anybody: from an archive, a backup, another user. Opening it uses nothing outside
 * the folder, whatever its files and lists say, and what is wrong with one database is no matter of the others.
 */

let parent = ''
let folder = ''
let victim = ''
const engines: StorageEngine[] = []
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'store')
  victim = join(parent, 'victim')
  await writeFile(victim, 'precious')
  const engine = await open()
  for (const id of ['bad', 'good']) await engine.createDatabase(id)
  await closeAll()
})
afterEach(async () => {
  await closeAll()
  await rm(parent, { recursive: true, force: true })
})

async function open(): Promise<StorageEngine> {
  const engine = await openSqliteEngine({ folder })
  engines.push(engine)
  return engine
}

async function closeAll(): Promise<void> {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
}

/** The name of a database's file, by its list. */
function listedFile(id: string): string {
  using catalog = new DatabaseSync(join(folder, 'catalog.sqlite'))
  const row = catalog.prepare('SELECT file FROM database WHERE id = ?').get(id)
  return String(row?.['file'])
}

function list(sql: string, ...values: readonly string[]): void {
  using catalog = new DatabaseSync(join(folder, 'catalog.sqlite'))
  expect(catalog.prepare(sql).run(...values).changes).toBe(1)
}

const refused = (message: RegExp): unknown =>
  expect.objectContaining({
    code: 'ERR_STORE_DAMAGED',
    message: expect.stringMatching(message),
  })

/** `bad` is refused by name, and everything else goes on as if it were not there. */
async function expectOnlyBadRefused(message: RegExp): Promise<void> {
  const engine = await open()
  await expect(engine.openDatabase('bad')).rejects.toEqual(refused(message))
  expect((await engine.listDatabases()).map(({ id }) => id)).toEqual(['bad', 'good'])
  await engine.openDatabase('good')
  expect(await readFile(victim, 'utf8')).toBe('precious')
}

test('a database that is listed with a file that is none of ours is refused, and only that one', async () => {
  const engine = await open()
  for (const file of [
    '../victim/x.sqlite',
    join(parent, 'db-00.sqlite'),
    'below/db-00.sqlite',
    'x.sqlite',
    'db-00.sqlite\0.sqlite',
    'db-00.sqlite\n',
    'catalog.sqlite',
    '',
  ]) {
    list('UPDATE database SET file = ? WHERE id = ?', file, 'bad')
    const message = refused(/catalog\.sqlite gives database bad the file/)
    await expect(engine.openDatabase('bad')).rejects.toEqual(message)
    await expect(markSqliteStoreRestored(folder)).rejects.toEqual(message)
  }
  const copying = copySqliteStore({ from: folder, to: join(parent, 'copy') })
  await expect(copying).rejects.toEqual(refused(/gives database bad/))
  await expectOnlyBadRefused(/gives database bad/)
})

test('a store with a bad database is opened, checked and maintained, and its others are served', async () => {
  interface Order {
    readonly id: string
  }
  const file = listedFile('bad')
  await truncate(join(folder, file), 100)
  const store = await Store.open({ engine: await open(), maintenance: 'manual' })
  const good = await store
    .database('good')
    .createCollection<Order>({ id: 'orders', partitionKey: '/id', defaultTtl: 1 })
  await good.create({ id: 'one' })
  expect(await good.count()).toBe(1)
  expect((await store.listCollections()).map(({ databaseId }) => databaseId)).toEqual(['good'])
  await expect(store.database('bad').listCollections()).rejects.toEqual(refused(/db-/))
  expect(await store.check()).toEqual([expect.stringMatching(/^bad: .*damaged/)])
  await expect(store.runMaintenance()).rejects.toEqual(refused(/db-/))
})

test('a database that is listed with a file outside can be deleted, and the file stays', async () => {
  const outside = join(parent, 'db-00.sqlite')
  await rename(join(folder, listedFile('bad')), outside)
  list('UPDATE database SET file = ? WHERE id = ?', '../db-00.sqlite', 'bad')
  const engine = await open()
  await engine.deleteDatabase('bad')
  expect((await engine.listDatabases()).map(({ id }) => id)).toEqual(['good'])
  expect((await lstat(outside)).isFile()).toBe(true)
})

test('of two databases that are listed with one file neither is opened, and deleting one keeps it', async () => {
  const file = listedFile('bad')
  list('UPDATE database SET file = ? WHERE id = ?', file, 'good')
  const engine = await open()
  for (const id of ['bad', 'good']) {
    await expect(engine.openDatabase(id)).rejects.toEqual(refused(/the file of another/))
  }
  await engine.deleteDatabase('good')
  await engine.openDatabase('bad')
})

test('a note that a listed file is unused is not believed', async () => {
  list('INSERT INTO meta VALUES (?, 1)', `unused:${listedFile('good')}`)
  const engine = await open()
  await engine.openDatabase('good')
})

test.runIf(process.platform !== 'win32').each(['', '-wal', '-shm', '-journal'])(
  'a link in the place of a database file%s is refused, and nothing is written where it leads',
  async (suffix) => {
    const path = join(folder, `${listedFile('bad')}${suffix}`)
    await rm(path, { force: true })
    await symlink(victim, path)
    await expectOnlyBadRefused(/^(?=.*db-)(?=.*file of the store)/)
  },
)

test.runIf(process.platform !== 'win32')(
  'a link to a database that is whole is refused as well',
  async () => {
    const path = join(folder, listedFile('bad'))
    await rename(path, join(parent, 'elsewhere.sqlite'))
    await symlink(join(parent, 'elsewhere.sqlite'), path)
    await expectOnlyBadRefused(/is a link or a device/)
  },
)

test.runIf(process.platform !== 'win32')(
  'a pipe in the place of a file makes nobody wait',
  async () => {
    const path = join(folder, listedFile('bad'))
    await unlink(path)
    execFileSync('mkfifo', [path])
    await expectOnlyBadRefused(/is a link or a device/)
    await closeAll()
    const marker = join(folder, 'tidemark.json')
    await unlink(marker)
    execFileSync('mkfifo', [marker])
    await expect(open()).rejects.toMatchObject({ code: 'ERR_STORE_DAMAGED' })
  },
)

test
  .runIf(process.platform !== 'win32')
  .each(['tidemark.json', 'catalog.sqlite', 'catalog.sqlite-wal'])(
  'a link in the place of %s is refused, and what it leads to is neither read nor written',
  async (name) => {
    const path = join(folder, name)
    await rm(path, { force: true })
    await symlink(victim, path)
    await expect(open()).rejects.toMatchObject({
      code: 'ERR_STORE_DAMAGED',
      message: expect.not.stringContaining('precious'),
    })
    expect(await readFile(victim, 'utf8')).toBe('precious')
  },
)

test('the path of a file is an invalid option, not a store in use', async () => {
  const file = join(parent, 'file')
  await writeFile(file, '')
  for (const path of [file, join(file, 'below')]) {
    const opening = openSqliteEngine({ folder: path })
    await expect(opening).rejects.toBeInstanceOf(InvalidOptionError)
    await expect(opening).rejects.toThrow(/is a file/)
    for (const copy of [
      () => copySqliteStore({ from: path, to: join(parent, 'copy') }),
      () => copySqliteStore({ from: folder, to: path }),
      () => markSqliteStoreRestored(path),
    ]) {
      await expect(copy()).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    }
  }
  expect(await readdir(folder)).toContain('catalog.sqlite')
})
