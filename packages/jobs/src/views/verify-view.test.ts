import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { count, latest, sum, top } from './folds/folds.ts'
import { materializeView } from './materialize-view.ts'
import type { ViewDocument } from './state-documents.ts'
import { verifyView } from './verify-view.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly total: number
}

let store: Store
let shop: Database
let orders: Collection<Order>
const functions = {
  by: ({ customer }: Order) => customer,
  fold: { orders: count<Order>(), total: sum(({ total }: Order) => total) },
}

beforeEach(async () => {
  store = await openMemoryStore()
  shop = store.database('shop')
  orders = await shop.createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/id' })
  for (let n = 0; n < 20; n += 1)
    await orders.upsert({ id: `o${n}`, customer: `c${n % 4}`, total: 0.1 })
  await using job = materializeView({
    ...functions,
    source: orders,
    target: { database: shop, id: 'customers' },
    leases: new MemoryLeaseStore(),
    deletes: 'ignore',
    stopWhenCaughtUp: true,
  })
  await job.start()
  await job.finished
})
afterEach(() => store.close())

const verify = () =>
  verifyView({ ...functions, source: orders, database: shop, id: 'customers', pauseMs: 1 })

test('JB-3 a view that is right is the same as a recount', async () => {
  expect(await verify()).toEqual({
    same: true,
    keys: 4,
    documents: 20,
    different: 0,
    samples: [],
    unsettled: 0,
  })
})

test('JB-3 keys that are wrong, missing or too many are named, with both sides', async () => {
  const view = shop.collection<ViewDocument & { readonly orders: number }>('view-customers-1')
  const { document: c0 } = await view.read('c0', 'c0')
  await view.upsert({ ...c0!, orders: 6 })
  await view.delete('c1', 'c1')
  await view.upsert({ ...c0!, id: 'c9', key: 'c9' })
  const report = await verify()
  expect(report).toMatchObject({ same: false, different: 3, unsettled: 0 })
  expect(report.samples.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toMatchObject([
    { key: 'c0', expected: { orders: 5 }, found: { orders: 6 } },
    { key: 'c1', expected: { orders: 5 }, found: undefined },
    { key: 'c9', expected: undefined, found: { orders: 5 } },
  ])
})

test('JB-3 values that JSON changes are compared as they are stored', async () => {
  const stored = {
    by: ({ customer }: Order) => customer,
    fold: {
      day: latest<Order, Date>(() => new Date(0)),
      notes: top<Order, string | undefined>(
        2,
        ({ id }) => id,
        () => undefined,
      ),
    },
  }
  await using job = materializeView({
    ...stored,
    source: orders,
    target: { database: shop, id: 'stored' },
    leases: new MemoryLeaseStore(),
    deletes: 'ignore',
  })
  await job.start()
  await job.caughtUp()
  const report = await verifyView({ ...stored, source: orders, database: shop, id: 'stored' })
  expect(report).toMatchObject({ same: true, keys: 4 })
})

test('a view that does not exist is ERR_NOT_FOUND', async () => {
  const missing = verifyView({ ...functions, source: orders, database: shop, id: 'nobody' })
  await expect(missing).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
})

test.each([{ looks: Number.NaN }, { looks: 0 }, { samples: -1 }, { pauseMs: 2 ** 31 }])(
  '%o is refused: without a number of looks it would never end',
  async (options) => {
    const verified = verifyView({
      ...functions,
      source: orders,
      database: shop,
      id: 'customers',
      ...options,
    })
    await expect(verified).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  },
)
