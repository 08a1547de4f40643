import type { Clock } from '@tidemark/contracts'
import { openMemoryStore } from '@tidemark/testing'
import { storageEngineConformance } from '@tidemark/testing/conformance'
import { afterAll, expect, test, vi } from 'vitest'
import { openMemoryEngine } from './memory-engine.ts'
import { DatabaseWriter } from './writer/database-writer.ts'
import { StatementPlans } from './statement-plans.fixture.ts'

const plans = new StatementPlans()
afterAll(() => plans[Symbol.dispose]())

storageEngineConformance({
  name: 'memory',
  async open({ clock }) {
    const engine = openMemoryEngine({ clock })
    return { engine, dispose: () => engine.close() }
  },
})

interface Item {
  readonly id: string
}

async function openItems(clock?: Clock) {
  const store = await openMemoryStore({ clock, maintenance: 'manual' })
  const items = await store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/id' })
  return { store, items }
}

test('TTL-11 the clock of the store does not go back with the clock of the machine', async () => {
  let wallMs = 1_800_000_000_000
  const { store, items } = await openItems({
    wallMs: () => wallMs,
    monotonicMs: () => 0,
    sleep: () => Promise.resolve(),
  })
  const first = await items.create({ id: 'a' })
  wallMs -= 3_600_000
  const second = await items.create({ id: 'b' })
  expect(second.document._ts).toBe(first.document._ts)
  wallMs += 3_605_000
  expect((await items.create({ id: 'c' })).document._ts).toBe(first.document._ts + 5)
  await store.close()
})

test('each engine in memory is a store of its own', () => {
  expect(openMemoryEngine().storeId).not.toBe(openMemoryEngine().storeId)
})

test('the databases of one engine are apart, and a deleted one comes back empty', async () => {
  const { store, items } = await openItems()
  await items.create({ id: 'a' })
  const options = { id: 'items', partitionKey: '/id' }
  const others = await store.database('other').createCollectionIfNotExists<Item>(options)
  expect(await others.count()).toBe(0)
  await store.deleteDatabase('db')
  await expect(items.create({ id: 'b' })).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  const again = await store.database('db').createCollectionIfNotExists<Item>(options)
  expect(await again.count()).toBe(0)
  await store.close()
})

test('writes that were accepted are carried out before the store is closed', async () => {
  const { store, items } = await openItems()
  const writes = Array.from({ length: 1000 }, (_, n) => items.create({ id: `d${n}` }))
  const settled = Promise.allSettled(writes)
  // Until the writes have reached the engine.
  await Promise.resolve()
  await store.close()
  const refused = (await settled).filter(({ status }) => status === 'rejected')
  expect(refused).toEqual([])
})

test('a loop of awaited writes lets the event loop turn', async () => {
  const { store, items } = await openItems()
  let turned = false
  setImmediate(() => (turned = true))
  for (let n = 0; !turned && n < 10_000; n++) await items.upsert({ id: `d${n % 10}` })
  expect(turned).toBe(true)
  await store.close()
})

test('writes that are made together are one transaction', async () => {
  const { store, items } = await openItems()
  const run = vi.spyOn(DatabaseWriter.prototype, 'runGroup')
  await Promise.all(Array.from({ length: 50 }, (_, n) => items.create({ id: `d${n}` })))
  expect(run).toHaveBeenCalledTimes(1)
  run.mockRestore()
  await store.close()
})

test('rows of a deleted collection are removed when nothing else is to be done', async () => {
  const purge = vi.spyOn(DatabaseWriter.prototype, 'purge')
  try {
    const { store, items } = await openItems()
    await items.create({ id: 'a' })
    await store.database('db').deleteCollection('items')
    await vi.waitFor(() => expect(purge.mock.results.at(-1)?.value).toBe(false))
    expect(purge.mock.results.some(({ value }) => value === true)).toBe(true)
    await store.close()
  } finally {
    purge.mockRestore()
  }
})

test('TTL-5 background work goes on while there are always writes', async () => {
  let wallMs = 1_800_000_000_000
  const store = await openMemoryStore({
    clock: { wallMs: () => wallMs, monotonicMs: () => 0, sleep: () => Promise.resolve() },
    maintenance: 'manual',
  })
  const items = await store.database('db').createCollectionIfNotExists<Item>({
    id: 'items',
    partitionKey: '/id',
    defaultTtl: 5,
  })
  for (let n = 0; n < 200; n += 1) await items.create({ id: `old${n}` })
  wallMs += 10_000
  let [writes, isDone] = [0, false]
  const writing = Array.from({ length: 16 }, async (_, writer) => {
    while (!isDone && writes++ < 50_000) await items.upsert({ id: `w${writer}` })
  })
  expect((await store.runMaintenance()).swept).toBe(200)
  expect(writes).toBeLessThan(50_000)
  isDone = true
  await Promise.all(writing)
  await store.close()
})

test('every statement goes by an index, and reads rows up to a limit', () => {
  expect(plans.size).toBeGreaterThan(50)
  expect(plans.costly).toEqual([])
})
