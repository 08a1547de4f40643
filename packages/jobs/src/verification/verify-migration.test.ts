import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DocumentBody } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { type Collection } from '@tidemark/store'
import { verifyMigration } from './verify-migration.ts'

interface Item extends DocumentBody {
  readonly group: string
  readonly name: string
  readonly made?: Date | string
}

let store: Store
let source: Collection<Item>
let target: Collection<Item>

beforeEach(async () => {
  store = await openMemoryStore()
  const database = store.database('db')
  source = await database.createCollectionIfNotExists<Item>({ id: 's', partitionKey: '/group' })
  target = await database.createCollectionIfNotExists<Item>({ id: 't', partitionKey: '/name' })
  for (let n = 0; n < 50; n += 1) {
    const item = { id: `d${n}`, group: `g${n % 3}`, name: `n${n % 7}` }
    await source.upsert(item)
    await target.upsert(item)
  }
})
afterEach(() => store.close())

const keep = (item: Item): Item => item

test('equal sides are the same, with all keys in memory and with few of them', async () => {
  const report = await verifyMigration({ source, target, mapDocument: keep })
  expect(report).toMatchObject({
    same: true,
    sourceDocuments: 50,
    expected: 50,
    targetDocuments: 50,
  })
  const few = await verifyMigration({ source, target, mapDocument: keep, maxKeysInMemory: 7 })
  expect(few).toEqual(report)
})

test('missing, different and extra documents are counted once each and named', async () => {
  await target.delete('d1', 'n1')
  await target.upsert({ id: 'd2', group: 'other', name: 'n2' })
  await target.upsert({ id: 'stray', group: 'g', name: 'n0' })
  for (const maxKeysInMemory of [1_000, 7]) {
    const report = await verifyMigration({ source, target, mapDocument: keep, maxKeysInMemory })
    expect(report).toMatchObject({
      same: false,
      missing: { count: 1, samples: [{ partitionKey: '["n1"]', id: 'd1' }] },
      different: { count: 1, samples: [{ partitionKey: '["n2"]', id: 'd2' }] },
      extra: { count: 1, samples: [{ partitionKey: '["n0"]', id: 'stray' }] },
      collisions: { count: 0 },
    })
  }
})

test('counts go on beyond the samples that are kept', async () => {
  for (let n = 0; n < 10; n += 1) await target.delete(`d${n}`, `n${n % 7}`)
  const report = await verifyMigration({ source, target, mapDocument: keep, samples: 3 })
  expect(report.missing.count).toBe(10)
  expect(report.missing.samples).toHaveLength(3)
})

test('a map that makes dates is compared as what is stored', async () => {
  const withDate = (item: Item): Item => ({ ...item, made: new Date(0) })
  for (const item of (await target.readDocuments()).documents) await target.upsert(withDate(item))
  const report = await verifyMigration({ source, target, mapDocument: withDate })
  expect(report.same).toBe(true)
})

test('progress is told, and ends where it was to end', async () => {
  const told: { checked: number; total: number }[] = []
  await verifyMigration({ source, target, mapDocument: keep, onProgress: (now) => told.push(now) })
  expect(told.at(-1)).toEqual({ checked: 100, total: 100 })
})

test('an abort ends it with the reason', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(verifyMigration({ source, target, mapDocument: keep, signal })).rejects.toThrow(
    'enough',
  )
})

test.each([{ maxKeysInMemory: 0 }, { maxKeysInMemory: Number.NaN }, { samples: -1 }])(
  '%o is refused: with no keys in memory it would never end',
  async (options) => {
    await expect(
      verifyMigration({ source, target, mapDocument: keep, ...options }),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  },
)
