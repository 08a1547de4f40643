import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore, verifyMigration } from 'tidemark'
import { mapOrder, migrateOrders, openOrders } from './orders-by-item.ts'

test('orders are copied, followed while they change, and removed when they are deleted', async (t) => {
  const store = await openStore(':memory:')
  const shop = store.database('shop')
  const source = await openOrders(shop)
  await source.upsert({ id: 'o1', customerId: 'ann', itemId: 'book', total: 12 })
  await source.upsert({ id: 'o2', customerId: 'bob', itemId: 'pen', total: 2 })
  await source.upsert({ id: 'o3', customerId: 'bob', itemId: '', total: 2 })

  const migration = migrateOrders(shop, source)
  t.after(async () => {
    await migration.stop()
    await store.close()
  })
  await migration.start()
  await migration.caughtUp()
  await source.upsert({ id: 'o1', customerId: 'ann', itemId: 'pencil', total: 1 })
  await source.delete('o2', 'bob')
  await migration.cutOver()

  const { target } = migration
  const { documents } = await target.readDocuments()
  assert.deepEqual(
    documents.map(({ id, itemId, total }) => ({ id, itemId, total })),
    [{ id: 'o1', itemId: 'pencil', total: 1 }],
  )
  const { same } = await verifyMigration({ source, target, mapDocument: mapOrder })
  assert.ok(same)
})
