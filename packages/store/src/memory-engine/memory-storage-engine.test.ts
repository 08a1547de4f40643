import type { Clock } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { Store } from '../store.ts'
import { MemoryStorageEngine } from './memory-storage-engine.ts'

test('TTL-11 the clock of the store does not go back with the clock of the machine', async () => {
  let wallMs = 1_800_000_000_000
  const clock: Clock = {
    wallMs: () => wallMs,
    monotonicMs: () => 0,
    sleep: () => Promise.resolve(),
  }
  await using store = await Store.open({ engine: new MemoryStorageEngine({ clock }) })
  const items = await store
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  const first = await items.create({ id: 'a' })
  wallMs -= 3_600_000
  const second = await items.create({ id: 'b' })
  expect(second.document._ts).toBe(first.document._ts)
  wallMs += 3_605_000
  expect((await items.create({ id: 'c' })).document._ts).toBe(first.document._ts + 5)
})

test('each memory engine is a store of its own', () => {
  expect(new MemoryStorageEngine().storeId).not.toBe(new MemoryStorageEngine().storeId)
})
