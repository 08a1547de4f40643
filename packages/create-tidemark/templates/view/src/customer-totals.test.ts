import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from 'tidemark'
import { keepTotals, openOrders } from './customer-totals.ts'

test('totals follow orders that change, move, are cancelled and deleted', async () => {
  await using store = await openStore(':memory:')
  const shop = store.database('shop')
  const orders = await openOrders(shop)
  await orders.upsert({ id: 'o1', customerId: 'ann', total: 10 })
  await orders.upsert({ id: 'o2', customerId: 'ann', total: 5 })
  await orders.upsert({ id: 'o3', customerId: 'bob', total: 1 })
  {
    await using worker = keepTotals(shop, orders)
    await worker.start()
    await worker.caughtUp()
    assert.deepEqual(await worker.view.read('ann'), {
      key: 'ann',
      documents: 2,
      orders: 2,
      total: 15,
      largest: 10,
    })
  }
  // Another worker goes on, and counts nothing twice.
  await orders.upsert({ id: 'o1', customerId: 'bob', total: 12 })
  await orders.upsert({ id: 'o2', customerId: 'ann', total: 5, cancelled: true })
  await orders.delete('o3', 'o3')
  await using worker = keepTotals(shop, orders)
  await worker.start()
  await worker.caughtUp()
  assert.equal(await worker.view.read('ann'), undefined)
  assert.deepEqual(await worker.view.read('bob'), {
    key: 'bob',
    documents: 1,
    orders: 1,
    total: 12,
    largest: 12,
  })
})
