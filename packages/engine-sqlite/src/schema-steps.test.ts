import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DocumentBody } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DATABASE_FILE } from './connection/schema.ts'
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

/** A store as programs of schema 2 have left it: without entries of unique keys. */
async function storeOfSchema2(): Promise<void> {
  await using store = await open()
  const old = await store
    .database('db')
    .createCollectionIfNotExists<Doc>({ id: 'old', partitionKey: '/pk' })
  for (let n = 0; n < 10; n++) await old.create({ id: `d${n}`, pk: 'p', mail: 'm' })
  await store.close()
  await inFile((file) => {
    file.exec(`DROP TABLE entry; UPDATE meta SET value = 2 WHERE name = 'schema'`)
  })
}

function uniqueCollection(store: Store): Promise<Collection<Doc>> {
  return store
    .database('db')
    .createCollectionIfNotExists<Doc>({ id: 'new', partitionKey: '/pk', uniqueKeys: [['/mail']] })
}

test('a file of an older schema is brought to the present one, by one of those who open it at once', async () => {
  await storeOfSchema2()
  const stores = await Promise.all([open(), open(), open()])
  try {
    for (const store of stores) {
      const old = store.database('db').collection<Doc>('old')
      expect(await old.count()).toBe(10)
      await old.upsert({ id: 'd0', pk: 'p', mail: 'changed' })
      expect(await store.check()).toEqual([])
    }
    const collections = await Promise.all(stores.map(uniqueCollection))
    await collections[0]?.create({ id: 'a', pk: 'p', mail: 'm' })
    for (const collection of collections) {
      const twin = collection.create({ id: 'b', pk: 'p', mail: 'm' })
      await expect(twin).rejects.toMatchObject({ code: 'ERR_UNIQUE_KEY' })
    }
  } finally {
    for (const store of stores) await store.close()
  }
  const schema = await inFile((file) =>
    file.prepare(`SELECT value FROM meta WHERE name = 'schema'`).get(),
  )
  expect(schema).toMatchObject({ value: DATABASE_FILE.version })
})

test('a step that fails leaves the file as it was', async () => {
  await storeOfSchema2()
  await inFile((file) => file.exec('CREATE TABLE entry(x INT)'))
  const engine = await openSqliteEngine({ folder })
  await expect(engine.openDatabase('db')).rejects.toMatchObject({
    code: expect.stringMatching(/^ERR_STORE/) as string,
  })
  await engine.close()
  await inFile((file) => {
    expect(file.prepare(`SELECT value FROM meta WHERE name = 'schema'`).get()).toMatchObject({
      value: 2,
    })
    file.exec('DROP TABLE entry')
  })
  await using store = await open()
  expect(await store.database('db').collection('old').count()).toBe(10)
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
