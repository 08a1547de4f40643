import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from 'tidemark'
import { keepTotals, openOrders } from './customer-totals.ts'

test('totals follow orders that change, move, are cancelled and deleted', async (t) => {
  const store = await openStore(':memory:')
  const shop = store.database('shop')
  const orders = await openOrders(shop)
  const first = keepTotals(shop, orders)
  const second = keepTotals(shop, orders)
  t.after(async () => {
    await first.stop()
    await second.stop()
    await store.close()
  })
  await orders.upsert({ id: 'o1', customerId: 'ann', total: 10 })
  await orders.upsert({ id: 'o2', customerId: 'ann', total: 5 })
  await orders.upsert({ id: 'o3', customerId: 'bob', total: 1 })
  await first.start()
  await first.caughtUp()
  assert.deepEqual(await first.view.read('ann'), {
    key: 'ann',
    documents: 2,
    orders: 2,
    total: 15,
    largest: 10,
  })
  await first.stop()
  // Another worker goes on, and counts nothing twice.
  await orders.upsert({ id: 'o1', customerId: 'bob', total: 12 })
  await orders.upsert({ id: 'o2', customerId: 'ann', total: 5, cancelled: true })
  await orders.delete('o3', 'o3')
  await second.start()
  await second.caughtUp()
  assert.equal(await second.view.read('ann'), undefined)
  assert.deepEqual(await second.view.read('bob'), {
    key: 'bob',
    documents: 1,
    orders: 1,
    total: 12,
    largest: 12,
  })
})
