import type { DocumentBody, LeaseStore } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sum, top } from './folds/folds.ts'
import { materializeView } from './materialize-view.ts'
import { openView } from './open-view.ts'
import { verifyView } from './verify-view.ts'
import { ViewRecords } from './view-records.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly cents: number
}

/** A document of the first view. */
interface Customer extends DocumentBody {
  readonly key: string
  readonly cents?: number
}

let store: Store
let shop: Database
let orders: Collection<Order>
let leases: LeaseStore

const allVersions = { retentionSeconds: 3_600 }
const PATIENT = { timeout: 20_000, interval: 10 }

beforeEach(async () => {
  store = await openMemoryStore()
  leases = new MemoryLeaseStore()
  shop = store.database('shop')
  orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    allVersions,
  })
  for (const [id, customer, cents] of [
    ['a', 'ada', 3],
    ['b', 'bob', 5],
    ['c', 'cyd', 1],
  ] as const) {
    await orders.upsert({ id, customer, cents })
  }
})
afterEach(() => store.close())

function customers(replaced: 'keep' | 'drop', rebuild = false) {
  return materializeView({
    source: orders,
    target: { database: shop, id: 'customers', allVersions },
    leases,
    by: ({ customer }) => customer,
    fold: { cents: sum(({ cents }: Order) => cents) },
    replaced,
    rebuild,
    progressIntervalMs: 10,
    logger: false,
  })
}

const best = {
  by: () => 'all',
  fold: {
    best: top(
      2,
      ({ cents = 0 }: Customer) => cents,
      ({ key, cents }: Customer) => `${key} ${cents}`,
    ),
  },
}

function board() {
  return materializeView({
    ...best,
    source: openView<Customer>(shop, 'customers'),
    target: { database: shop, id: 'board' },
    leases,
    progressIntervalMs: 10,
    logger: false,
  })
}

const shown = async () => (await openView<{ best: string[] }>(shop, 'board').read('all'))?.best

describe('JB-3 a view over a view', () => {
  test.each(['keep', 'drop'] as const)(
    'follows it to the edition that is built again, and readers keep what they have until then: %s',
    async (replaced) => {
      await using first = customers(replaced)
      await first.start()
      await using second = board()
      await using other = board()
      await second.start()
      await other.start()
      await expect.poll(shown, PATIENT).toEqual(['bob 5', 'ada 3'])

      const reads: unknown[] = []
      const rebuild = customers(replaced, true)
      await rebuild.start()
      await expect
        .poll(async () => (await new ViewRecords(shop).read('board'))?.current.number, PATIENT)
        .toBeGreaterThan(1)
      reads.push(await shown())
      await orders.upsert({ id: 'd', customer: 'cyd', cents: 9 })
      await orders.delete('b', 'b')
      await expect.poll(shown, PATIENT).toEqual(['cyd 10', 'ada 3'])
      expect(reads).toEqual([['bob 5', 'ada 3']])
      await rebuild.stop()

      const source = openView<Customer>(shop, 'customers')
      const report = await verifyView({ ...best, source, database: shop, id: 'board' })
      expect(report).toMatchObject({ same: true, keys: 1 })
      expect(await new ViewRecords(shop).read('board')).not.toHaveProperty('building')
    },
  )

  test('is built again where it was built again while no worker ran', async () => {
    const once = async (job: ReturnType<typeof board | typeof customers>): Promise<void> => {
      await job.start()
      await job.caughtUp()
      await job.stop()
    }
    await once(customers('drop'))
    await once(board())
    const rebuild = customers('drop', true)
    await rebuild.start()
    await expect
      .poll(async () => (await new ViewRecords(shop).read('customers'))?.current.number, PATIENT)
      .toBe(2)
    await rebuild.stop()
    await orders.upsert({ id: 'd', customer: 'cyd', cents: 9 })
    await using first = customers('drop')
    await first.start()
    await using second = board()
    await second.start()
    await expect.poll(shown, PATIENT).toEqual(['cyd 10', 'bob 5'])
  })
})
