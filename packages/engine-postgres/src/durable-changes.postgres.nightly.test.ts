import { errorCode, lsn } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import { startPostgresProcess, type PostgresProcess } from '@tidemark/testing/servers'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresEngine } from './postgres-engine.ts'

// A server whose commits are not durable by default, and which takes its time to write them out: whatever was told
// to be done has to be there after it crashed, and not only documents.

let server: PostgresProcess
beforeAll(async () => {
  server = await startPostgresProcess({
    // Without fsync: the machine does not crash here, only what the server has not written yet is lost.
    settings: { synchronous_commit: 'off', wal_writer_delay: '10s', autovacuum: 'off' },
  })
})
afterAll(() => server[Symbol.asyncDispose]())

interface Item {
  readonly id: string
  readonly key: string
  readonly ttl?: number
}

async function openStore(url: string): Promise<Store> {
  const engine = await openPostgresEngine({ url })
  return Store.open({ engine, maintenance: 'manual' })
}

async function make(url: string): Promise<{ store: Store; items: Collection<Item> }> {
  const store = await openStore(url)
  const items = await store.database('first').createCollectionIfNotExists<Item>({
    id: 'items',
    partitionKey: '/key',
    defaultTtl: -1,
  })
  for (const key of ['a', 'b', 'c', 'd']) await items.create({ id: 'x', key })
  return { store, items }
}

type Change = (made: { store: Store; items: Collection<Item> }) => Promise<unknown>
type Look = (store: Store, items: Collection<Item>) => Promise<unknown>

const changes: readonly (readonly [what: string, change: Change, look: Look])[] = [
  ['a database', ({ store }) => store.createDatabase('second'), (store) => names(store)],
  ['the end of a database', ({ store }) => store.deleteDatabase('first'), (store) => names(store)],
  [
    'a collection',
    ({ store }) => store.database('first').createCollection({ id: 'more', partitionKey: '/key' }),
    async (store) => (await store.database('first').listCollections()).map(({ id }) => id),
  ],
  [
    'a setting',
    ({ items }) => items.updateSettings({ defaultTtl: 77 }),
    async (_store, items) => (await items.readRecord()).definition.defaultTtl,
  ],
  [
    'a split',
    async ({ items }) => items.split((await items.readFeedRanges())[0]?.id ?? ''),
    async (_store, items) => (await items.readFeedRanges()).map(({ id }) => id),
  ],
  [
    'a position of a group',
    async ({ items }) => {
      const [range] = await items.readFeedRanges()
      if (range === undefined) throw new Error('no range')
      await items.positions.report([{ group: 'g', range, lsn: lsn(3) }])
    },
    async (_store, items) => (await items.positions.read('g')).map((position) => position.lsn),
  ],
  ['a document', ({ items }) => items.delete('x', 'a'), (_store, items) => items.count()],
  [
    'folded rows',
    async ({ items, store }) => {
      await items.split((await items.readFeedRanges())[0]?.id ?? '')
      await items.upsert({ id: 'x', key: 'a' })
      await store.runMaintenance()
    },
    async (_store, items) => {
      const { engine } = await items.open()
      const kinds = (await engine.readMaintenance()).tasks.map(({ kind }) => kind)
      return [kinds.includes('fold'), (await items.readFeedRanges()).length]
    },
  ],
]

test.each(changes)('ST-6 %s survives a crash of a server that commits late', async (...one) => {
  const [, change, look] = one
  const url = await server.createDatabase()
  const made = await make(url)
  const before = await seen(look, made)
  await change(made)
  const after = await seen(look, made)
  expect(after).not.toEqual(before)
  await server.restart('immediate')
  await made.store.close()
  await using store = await openStore(url)
  const items = store.database('first').collection<Item>('items')
  expect(await seen(look, { store, items })).toEqual(after)
})

async function seen(
  look: Look,
  { store, items }: { store: Store; items: Collection<Item> },
): Promise<unknown> {
  try {
    return await look(store, items)
  } catch (error) {
    return errorCode(error) ?? String(error)
  }
}

test('ST-6 so does what went through a pool of the caller', async () => {
  const url = await server.createDatabase()
  const pool = new Pool({ connectionString: url })
  pool.on('error', () => {})
  const engine = await openPostgresEngine({ pool })
  const store = await Store.open({ engine, maintenance: 'manual' })
  await store.createDatabase('first')
  await server.restart('immediate')
  await store.close()
  await pool.end()
  await using again = await openStore(url)
  expect(await names(again)).toEqual(['first'])
})

async function names(store: Store): Promise<readonly string[]> {
  return (await store.listDatabases()).map(({ id }) => id)
}
