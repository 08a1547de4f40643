import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  MemoryLeaseStore,
  archiveExpired,
  migrateCollection,
  openStore,
  type Change,
  type ChangeFeedSource,
  type Collection,
  type DocumentBody,
  type Store,
} from './index.ts'

interface Item extends DocumentBody {
  readonly pk: string
  readonly ttl?: number
}

let folder = ''
let store: Store
let items: Collection<Item>

/** Five documents, of which the text of `d2` was overwritten in the file. The newest of them has expired. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  await using filled = await openStore({ folder, maintenance: 'manual' })
  const collection = await filled
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', defaultTtl: -1 })
  for (let n = 0; n < 5; n += 1) await collection.create({ id: `d${n}`, pk: 'p' })
  await filled.close()
  await damage()
  store = await openStore({ folder, maintenance: 'manual' })
  items = store.database('db').collection<Item>('items')
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

async function damage(change = ''): Promise<void> {
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each)) ?? ''
  const file = new DatabaseSync(join(folder, name))
  const { changes } = file
    .prepare(`UPDATE doc SET body = '{"id":"d2",'${change} WHERE id = 'd2'`)
    .run()
  file.close()
  expect(changes).toBe(1)
}

const DAMAGED = expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }) as Error
const sees = (change: Change): boolean => change.kind === 'document' && change.document.id !== ''

test('what reads documents says that the store is damaged', async () => {
  await expect(items.read('d2', 'p')).rejects.toThrow(DAMAGED)
  await expect(items.readDocuments()).rejects.toThrow(DAMAGED)
  expect((await items.read('d3', 'p')).document?.id).toBe('d3')
})

test('CF-13 changes() delivers what nobody looks at, and rejects where a filter looks', async () => {
  const keys: string[] = []
  const options = { from: 'beginning', follow: false } as const
  for await (const { changes } of items.changes(options)) keys.push(...changes.map(({ id }) => id))
  expect(keys).toEqual(['d0', 'd1', 'd2', 'd3', 'd4'])
  const seen: string[] = []
  const look = async (): Promise<void> => {
    const pages = items.changes({ ...options, maxItemCount: 1, filter: sees })
    for await (const { changes } of pages) seen.push(...changes.map(({ id }) => id))
  }
  await expect(look()).rejects.toThrow(DAMAGED)
  expect(seen).toEqual(['d0', 'd1'])
})

test('lag counts damaged changes, and their age needs no document', async () => {
  const [range] = await items.readFeedRanges()
  const start = await items.resolveStart({ range: range!, start: 'beginning' })
  const { continuation } = start
  const before = await items.readPage({ range: range!, continuation, maxItemCount: 2 })
  const lag = { remainingChanges: 3, oldestChangeMs: expect.any(Number) as number }
  expect(await items.measureLag({ ...before, range: range! })).toMatchObject(lag)
  const leases = new MemoryLeaseStore()
  const host = new ChangeFeedProcessorHost<Item>({ group: 'g', feed: items, leases, logger: false })
  await host.runUntilCaughtUp(() => {})
  // As a feed that can only be read: pages are read and counted.
  const feed: ChangeFeedSource<Item> = {
    identity: items.identity,
    description: items.description,
    supports: items.supports,
    readFeedRanges: () => items.readFeedRanges(),
    resolveStart: (request) => items.resolveStart(request),
    readPage: (request) =>
      items.readPage({ ...request, continuation: before.continuation, maxItemCount: 3 }),
  }
  const estimate = await new ChangeFeedEstimator({ group: 'g', feed, leases }).estimate()
  expect(estimate).toMatchObject({ remainingChanges: 3 })
})

test('JB-1 a migration stands at a damaged document as at a feed that cannot be read', async () => {
  const told: unknown[] = []
  const migration = migrateCollection<Item, Item>({
    job: 'move',
    source: items,
    target: { database: store.database('db'), id: 'copy', partitionKey: '/id' },
    leases: new MemoryLeaseStore(),
    mapDocument: (document) => document,
    logger: false,
    onEvent: (event) => {
      if (event.kind === 'failure') told.push([event.what, event.error])
    },
  })
  await migration.start()
  await expect.poll(() => told.length, { timeout: 30_000 }).toBeGreaterThan(0)
  await migration.stop()
  expect(told[0]).toEqual(['feed', DAMAGED])
  expect(told.filter((one) => Array.isArray(one) && one[0] === 'batch')).toEqual([])
  expect(await store.database('db').collection('copy').count()).toBe(0)
})

test('TTL-14 an archive of expired documents keeps a damaged one from being purged', async () => {
  await store.close()
  // As if all of them had expired long ago.
  await damage(', exp = 1')
  store = await openStore({ folder, maintenance: 'manual' })
  items = store.database('db').collection<Item>('items')
  const told: unknown[] = []
  const written: string[] = []
  const archive = archiveExpired<Item>({
    source: items,
    sink: { write: async (batch) => void written.push(...batch.map(({ id }) => id)) },
    leases: new MemoryLeaseStore(),
    logger: false,
    onEvent: (event) => {
      if (event.kind === 'failure') told.push([event.what, event.error])
    },
  })
  await archive.start()
  await store.runMaintenance()
  await expect.poll(() => told.length, { timeout: 30_000 }).toBeGreaterThan(0)
  await archive.stop()
  expect(told[0]).toEqual(['feed', DAMAGED])
  expect(written).toEqual([])
})
