import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openMemoryEngine } from '@tidemark/engine-sqlite'
import { openStore } from './open-store.ts'

/** Where no folder may come to be. */
const folder = '/proc/none'
const engine = openMemoryEngine()
const url = 'postgres://user:secret@127.0.0.1:1/none'
const PLACE =
  'openStore needs the path of a folder, a postgres:// URL, { folder }, { url }, { pool } or { engine }'

test.each<[unknown, string]>([
  [{ folder, durabilty: 'sync' }, 'there is no option durabilty; did you mean durability?'],
  [{ folder, maintenence: 'manual' }, 'there is no option maintenence; did you mean maintenance?'],
  [{ folder, maxDocumentBytes: '2 MiB' }, 'maxDocumentBytes must be a number, got "2 MiB"'],
  [{ folder, clock: Date }, 'clock must be a clock, got a function (Date)'],
  [{ folder: 5 }, 'folder must be a text, got 5'],
  // There are no files to sync or to share.
  [{ folder: ':memory:', durability: 'sync' }, 'there is no option durability'],
  [{ folder: ':memory:', access: 'group' }, 'there is no option access'],
  // Of another kind of store.
  [{ folder, schema: 'shop' }, 'there is no option schema'],
  [{ url, maxConections: 5 }, 'there is no option maxConections; did you mean maxConnections?'],
  [{ url, statementTimeoutMs: '5 s' }, 'statementTimeoutMs must be a number, got "5 s"'],
  [{ url, durability: 'relaxed' }, 'there is no option durability'],
  [{ pool: 'x' }, 'pool must be a Pool of pg, got "x"'],
  [
    { engine, maxDocumentByte: 5 },
    'there is no option maxDocumentByte; did you mean maxDocumentBytes?',
  ],
  [
    { engine, maintenance: { intervalMS: 5 } },
    'there is no option maintenance.intervalMS; did you mean maintenance.intervalMs?',
  ],
  [{ engine, maintenance: 'never' }, 'maintenance must be "manual" or options, got "never"'],
  [{ engine: {} }, 'engine must be a storage engine, got an object (Object)'],
  [{ foldr: folder }, 'there is no option foldr; did you mean folder?'],
  [{}, PLACE],
  [{ maintenance: 'manual' }, PLACE],
  [undefined, 'options must be an object, got undefined'],
])('openStore refuses %o', async (options, message) => {
  const opening = openStore(options as { folder: string })
  await expect(opening).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION', message })
})

test('options that are left undefined are none', async () => {
  await using store = await openStore({
    engine,
    maxDocumentBytes: undefined,
    maintenance: 'manual',
    clock: undefined,
  })
  expect(store.id).toBeTypeOf('string')
})

test('`:memory:` is a store of its own each time, and makes no folder', async () => {
  const options = { folder: ':memory:', maintenance: 'manual' } as const
  await using one = await openStore(':memory:')
  await using two = await openStore(options)
  expect(one.id).not.toBe(two.id)
  const items = await one
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  await items.create({ id: 'a' })
  expect(await one.listDatabases()).toHaveLength(1)
  expect(await two.listDatabases()).toEqual([])
  expect(existsSync(':memory:')).toBe(false)
})
