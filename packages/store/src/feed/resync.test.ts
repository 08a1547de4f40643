import { FULL_RANGE, feedRangeId } from '@tidemark/contracts'
import { SimulatedClock, openMemoryEngine, openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { Store } from '../store.ts'
import { resolveChangesOptions, type ChangesPage } from './changes-options.ts'
import { FeedReader } from './feed-reader.ts'
import { iterateChanges } from './iterate-changes.ts'

/** A reader that the horizon has passed, over an engine that does something before or after one method. */
async function lateReader(
  hooks: (split: () => Promise<unknown>) => Partial<DatabaseEngine>,
): Promise<readonly ChangesPage<{ readonly id: string }>[]> {
  const clock = new SimulatedClock()
  const engine = openMemoryEngine({ clock })
  const store = await Store.open({ engine, maintenance: 'manual' })
  const items = await store.database('db').createCollectionIfNotExists({
    id: 'items',
    partitionKey: '/id',
    defaultTtl: 5,
    pendingDeletes: { retentionSeconds: 1 },
  })
  for (let n = 0; n < 10; n++) await items.create({ id: `old${n}` })
  const [before] = await collect(items.changes({ from: 'beginning', follow: false }))
  await clock.advance(5000)
  await store.runMaintenance()
  await clock.advance(3000)
  await store.runMaintenance()
  for (let n = 0; n < 10; n++) await items.create({ id: `new${n}` })
  const open = await items.open()
  const { ranges } = await items.readPartitionKeyRanges()
  const own = hooks(() => items.split(ranges[0]?.id ?? ''))
  const hooked = new Proxy(open.engine, {
    get: (target, name) => {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const continuation = before?.continuation ?? ''
  const options = resolveChangesOptions({
    from: { continuation },
    follow: false,
    onHorizonPassed: 'resync',
  })
  const reader = new FeedReader<{ readonly id: string }>({ ...open, engine: hooked })
  return collect(iterateChanges(async () => reader, options))
}

async function collect<Page>(pages: AsyncIterable<Page>): Promise<readonly Page[]> {
  const all: Page[] = []
  for await (const page of pages) all.push(page)
  return all
}

/** Every child says for itself that it starts over, on its first page, and delivers what is there once. */
function expectBothResynchronized(pages: Awaited<ReturnType<typeof lateReader>>): void {
  const told = pages.flatMap(({ resynchronized }) => resynchronized ?? [])
  expect(told).toHaveLength(2)
  expect(told.map(({ range }) => feedRangeId(range)).toSorted()).not.toContain(
    feedRangeId(FULL_RANGE),
  )
  expect(new Set(told.map(({ range }) => feedRangeId(range))).size).toBe(2)
  for (const { lsn, horizon, untilLsn } of told) {
    expect(lsn).toBeLessThan(horizon)
    expect(horizon).toBeLessThanOrEqual(untilLsn)
  }
  const ids = pages.flatMap(({ changes }) => changes.map(({ id }) => id))
  expect(ids.toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `new${n}`))
}

test('TTL-15 ST-9 a range that is split before its first page says in both children that it began anew', async () => {
  const pages = await lateReader((split) => ({
    async resolveStart(this: DatabaseEngine, query: Parameters<DatabaseEngine['resolveStart']>[0]) {
      const counter = await this.resolveStart(query)
      if (query.start.kind === 'beginning') await split()
      return counter
    },
  }))
  expectBothResynchronized(pages)
})

test('TTL-15 ST-9 a range that is split while it begins anew begins anew in both children', async () => {
  let isSplit = false
  const pages = await lateReader((split) => ({
    async resolveStart(this: DatabaseEngine, query: Parameters<DatabaseEngine['resolveStart']>[0]) {
      if (!isSplit) await split()
      isSplit = true
      return this.resolveStart(query)
    },
  }))
  expectBothResynchronized(pages)
})

test('ST-9 ranges that are split while an iteration opens are opened anew', async () => {
  const store = await openMemoryStore({ maintenance: 'manual' })
  const items = await store
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id', partitionCount: 2 })
  for (let n = 0; n < 20; n++) await items.create({ id: `d${n}` })
  const open = await items.open()
  let splits = 0
  const engine = new Proxy(open.engine, {
    get: (target, name) => {
      if (name !== 'listRanges') {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      }
      return async (record: typeof open.record) => {
        const ranges = await target.listRanges(record)
        if (splits++ < 3) await items.split(String(ranges.at(-1)?.number))
        return ranges
      }
    },
  })
  const reader = new FeedReader<{ readonly id: string }>({ ...open, engine })
  const options = resolveChangesOptions({ from: 'beginning', follow: false })
  const pages = await collect(iterateChanges(async () => reader, options))
  expect(splits).toBe(4)
  expect(new Set(pages.flatMap(({ changes }) => changes.map(({ id }) => id))).size).toBe(20)
})
