import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FULL_RANGE, partitionKeyDefinition } from '@tidemark/contracts'
import type { CollectionRecord, DatabaseEngine, StorageEngine } from '@tidemark/store/engine'
import type { FeedCountQuery } from '@tidemark/store/engine'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countInPieces } from './count-feed.ts'
import { openSqliteEngine } from '../sqlite-engine.ts'
import { ReadLedger } from '@tidemark/testing'

/*
 * The real page is 4 MiB, a large document 2 MiB: here a 32nd of both, in the same proportion.
 */
const PAGE_CHARS = 128 * 1024
const LARGE = 64 * 1024
const SMALL = 200

let folder = ''
let engine: StorageEngine
let database: DatabaseEngine

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  engine = await openSqliteEngine({ folder, durability: 'relaxed' })
  await engine.createDatabase('db')
  database = await engine.openDatabase('db')
})
afterAll(async () => {
  await engine.close()
  await rm(folder, { recursive: true })
})

async function collectionOf(id: string, ranges = [FULL_RANGE]): Promise<CollectionRecord> {
  const definition = {
    partitionKey: partitionKeyDefinition('/pk'),
    defaultTtl: null,
    indexingMode: 'consistent' as const,
    pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
    allVersions: { retentionSeconds: 3600, previousImages: true },
    splitAboveBytes: null,
  }
  return database.createCollection(id, definition, ranges)
}

/** Documents of these sizes in turn, under keys spread over the range. */
async function write(
  collection: CollectionRecord,
  sizes: readonly number[],
  keys = ['10', 'A0'],
): Promise<void> {
  const commits = sizes.map(async (bytes, n) => {
    const id = `d${n}`
    const body = JSON.stringify({ id, text: 'x'.repeat(bytes) })
    const condition = { kind: 'none' } as const
    const put = { kind: 'put', id, condition, rid: 'r', body, ttl: 0 } as const
    const epk = keys[n % keys.length]!
    return database.commit({
      batches: [
        { collection: collection.number, epk, partitionKey: `["${n}"]`, operations: [put] },
      ],
    })
  })
  await Promise.all(commits)
}

/** Pages to the end; each may read a little more than it returns. */
async function readAll(
  readPage: (after: number) => Promise<{ texts: readonly string[]; next: number | undefined }>,
): Promise<{ readonly returned: number; readonly bytes: number; readonly most: number }> {
  let [returned, bytes, most] = [0, 0, 0]
  for (let after: number | undefined = 0; after !== undefined;) {
    using ledger = new ReadLedger()
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(after)
    const length = page.texts.reduce((sum, text) => sum + text.length, 0)
    expect(ledger.total.bytes).toBeGreaterThanOrEqual(length)
    returned += page.texts.length
    bytes += length
    most = Math.max(most, ledger.total.bytes - length)
    after = page.next
  }
  return { returned, bytes, most }
}

function feedOf(collection: CollectionRecord, maxItems = 1000): ReturnType<typeof readAll> {
  const limits = { maxItems, maxChars: PAGE_CHARS }
  return readAll(async (afterLsn) => {
    const page = await database.readFeedPage({ collection, range: FULL_RANGE, afterLsn, ...limits })
    return { texts: page.rows.map((row) => row[2]), next: page.caughtUp ? undefined : page.lsn }
  })
}

test.each([3, 1000])(
  'a page of %i large documents at most reads hardly more than it returns',
  async (maxItems) => {
    const collection = await collectionOf(`feed${maxItems}`)
    await write(collection, Array<number>(40).fill(LARGE))
    const { returned, bytes, most } = await feedOf(collection, maxItems)
    expect(returned).toBe(40)
    expect(bytes).toBeGreaterThan(40 * LARGE)
    expect(most).toBeLessThan(1.5 * LARGE)
  },
)

test('a page of the log of all versions reads hardly more than it returns', async () => {
  const collection = await collectionOf('versions')
  await write(collection, Array<number>(20).fill(LARGE))
  await write(collection, Array<number>(20).fill(LARGE / 2))
  const { returned, bytes, most } = await readAll(async (afterLsn) => {
    const limits = { maxItems: 1000, maxChars: PAGE_CHARS }
    const page = await database.readVersionPage({
      collection,
      range: FULL_RANGE,
      afterLsn,
      ...limits,
    })
    return {
      texts: page.rows.map(
        ({ current, previous }) => `${current?.body ?? ''}${previous?.body ?? ''}`,
      ),
      next: page.caughtUp ? undefined : page.lsn,
    }
  })
  expect(returned).toBe(40)
  expect(bytes).toBeGreaterThan(40 * LARGE)
  expect(most).toBeLessThan(1.5 * LARGE)
})

test('a scan of large documents reads hardly more than it returns', async () => {
  const collection = await collectionOf('scan')
  await write(collection, Array<number>(40).fill(LARGE))
  let after: Parameters<DatabaseEngine['scan']>[0]['after']
  const { returned, bytes, most } = await readAll(async (page) => {
    const limits = { maxItems: 1000, maxChars: PAGE_CHARS }
    const { versions, next } = await database.scan({
      collection,
      range: FULL_RANGE,
      after,
      ...limits,
    })
    after = next
    return { texts: versions.map(({ body }) => body), next: next && page + 1 }
  })
  expect(returned).toBe(40)
  expect(bytes).toBeGreaterThan(40 * LARGE)
  expect(most).toBeLessThan(1.5 * LARGE)
})

test('large documents behind small ones are not read with them', async () => {
  const collection = await collectionOf('mixed')
  await write(collection, [...Array<number>(150).fill(SMALL), ...Array<number>(60).fill(LARGE)])
  const { returned, bytes, most } = await feedOf(collection)
  expect(returned).toBe(210)
  expect(bytes).toBeGreaterThan(60 * LARGE)
  expect(most).toBeLessThan(2 * PAGE_CHARS)
})

test('halves that were merged are read side by side for no more than a page', async () => {
  const collection = await collectionOf('merged')
  await write(collection, Array<number>(8).fill(SMALL))
  const [whole] = await database.listRanges(collection)
  const parts = await database.splitRange({ collection, range: whole?.number ?? -1, at: '80' })
  await write(collection, Array<number>(60).fill(LARGE))
  const [low, high] = parts.map(({ number }) => number)
  await database.mergeRanges({ collection, ranges: [low ?? -1, high ?? -1] })
  const { returned, bytes, most } = await feedOf(collection)
  expect(returned).toBe(60)
  expect(bytes).toBeGreaterThan(60 * LARGE)
  expect(most).toBeLessThan(1.5 * LARGE)
})

test('eight ranges that were merged, with rows of a middling size, are read for no more than two pages', async () => {
  const bounds = ['', '20', '40', '60', '80', 'A0', 'C0', 'E0', 'FF']
  const ranges = bounds.slice(1).map((maxExclusive, n) => {
    return { minInclusive: bounds[n]!, maxExclusive }
  })
  const collection = await collectionOf('eight', ranges)
  // As many of each range as a first read takes, and hardly smaller than it would take of one range alone.
  const keys = ranges.map(({ minInclusive }) => `${minInclusive || '1'}1`)
  await write(collection, Array<number>(8 * 130).fill(PAGE_CHARS / 64 - 200), keys)
  for (let present = await database.listRanges(collection); present.length > 1;) {
    const [left, right] = present.map(({ number }) => number)
    await database.mergeRanges({ collection, ranges: [left ?? -1, right ?? -1] })
    present = await database.listRanges(collection)
  }
  const { returned, most } = await feedOf(collection)
  expect(returned).toBe(8 * 130)
  expect(most).toBeLessThan(2 * PAGE_CHARS)
})

test('of a count in pieces the first change is the oldest, whatever the later pieces find', async () => {
  const pieces = [9, 5, 7].map((oldestMs, n) => {
    return {
      rows: 1,
      isExact: n === 2,
      newestLsn: 30,
      throughLsn: 10 * (n + 1),
      oldestMs,
      horizons: [],
    }
  })
  const asked: number[] = []
  const query = { afterLsn: 0, maxItems: 100 } as FeedCountQuery
  const found = await countInPieces(query, async ({ afterLsn }) => {
    asked.push(afterLsn)
    return pieces[asked.length - 1]!
  })
  expect(found).toMatchObject({ rows: 3, oldestMs: 9, isExact: true })
  expect(asked).toEqual([0, 10, 20])
})

test.each([
  { found: 5000, rows: 100_000, pieces: 20 },
  { found: 0, rows: 0, pieces: 20 },
])(
  'a count of pieces with $found rows each ends after $pieces of them, and says that there may be more',
  async ({ found, rows, pieces }) => {
    let asked = 0
    const query = { afterLsn: 0, maxItems: 100_000 } as FeedCountQuery
    const count = await countInPieces(query, async ({ afterLsn }) => {
      asked++
      const throughLsn = afterLsn + 1_000_000
      const piece = { rows: found, isExact: false, newestLsn: 2 ** 40, horizons: [] }
      return { ...piece, throughLsn, oldestMs: undefined }
    })
    expect(count).toMatchObject({ rows, isExact: false })
    expect(asked).toBe(pieces)
  },
)
