import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DocumentBody } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteEngine } from './sqlite-engine.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

interface Doc extends DocumentBody {
  readonly pk: string
  readonly mail: string
}

const open = async (): Promise<Store> =>
  Store.open({ engine: await openSqliteEngine({ folder }), maintenance: 'manual' })

/** The file of the only database, as another program sees it. */
async function inFile<Result>(act: (file: DatabaseSync) => Result): Promise<Result> {
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each)) ?? ''
  const file = new DatabaseSync(join(folder, name))
  try {
    return act(file)
  } finally {
    file.close()
  }
}

function uniqueCollection(store: Store): Promise<Collection<Doc>> {
  return store
    .database('db')
    .createCollectionIfNotExists<Doc>({ id: 'new', partitionKey: '/pk', uniqueKeys: [['/mail']] })
}

test.each([
  [`UPDATE meta SET name = 'schema', value = 3 WHERE name = 'tables'`, 'of an unreleased version'],
  [`UPDATE meta SET value = 2 WHERE name = 'tables'`, '2; this program reads version 1'],
])('a file with other tables is refused, and stays as it was: %s', async (change, message) => {
  {
    await using store = await open()
    const items = await store
      .database('db')
      .createCollectionIfNotExists<Doc>({ id: 'items', partitionKey: '/pk' })
    await items.create({ id: 'a', pk: 'p', mail: 'm' })
  }
  await inFile((file) => file.exec(change))
  const engine = await openSqliteEngine({ folder })
  await expect(engine.openDatabase('db')).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
    message: expect.stringContaining(message) as string,
  })
  await engine.close()
  await inFile((file) =>
    file.exec(`UPDATE meta SET name = 'tables', value = 1 WHERE name IN ('schema', 'tables')`),
  )
  await using store = await open()
  expect(await store.database('db').collection('items').count()).toBe(1)
})

test('a catalog of an unreleased version is refused, and says what to do', async () => {
  await (await open()).close()
  const catalog = (await readdir(folder)).find((each) => /^catalog.*\.sqlite$/.test(each)) ?? ''
  const file = new DatabaseSync(join(folder, catalog))
  file.exec(`UPDATE meta SET name = 'schema', value = 2 WHERE name = 'tables'`)
  file.close()
  await expect(openSqliteEngine({ folder })).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
    message: expect.stringContaining('begin a new folder') as string,
  })
})

test('what a unique key was given is kept in the transaction of its document', async () => {
  await using store = await open()
  const collection = await uniqueCollection(store)
  await collection.create({ id: 'a', pk: 'p', mail: 'm' })
  // As after a crash between the two: a check names what no transaction can leave.
  await inFile((file) => file.exec('DELETE FROM entry'))
  expect(await store.check()).toEqual([expect.stringContaining('0 entries of 1 unique keys')])
  await collection.upsert({ id: 'a', pk: 'p', mail: 'm' })
  expect(await store.check()).toEqual([])
  await inFile((file) => file.exec(`DELETE FROM doc WHERE id = 'a'`))
  expect(await store.check()).toContainEqual(expect.stringContaining('has no document'))
})
