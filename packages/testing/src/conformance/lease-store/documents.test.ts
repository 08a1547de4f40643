import { openMemoryStore } from '../../open-memory-store.ts'
import { DocumentLeaseStore } from '@tidemark/processor'
import { afterEach, expect, test } from 'vitest'
import type { Store } from '@tidemark/store'
import { leaseStoreConformance } from './suite.ts'
import { identity as hostIdentity, StoreTime, syncRequest } from './fixtures.ts'

leaseStoreConformance({
  name: 'documents of a store in memory',
  modelRuns: 50,
  async open() {
    const time = new StoreTime()
    const store = await openMemoryStore({ clock: time })
    const database = await store.createDatabase('shop')
    await database.createCollection({ id: 'leases', partitionKey: '/partitionKey' })
    const leases = (): DocumentLeaseStore =>
      new DocumentLeaseStore(database.collection('leases'), { clock: time })
    return { store: leases(), other: leases(), time, close: () => store.close() }
  },
})

const stores: Store[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

async function openStore(): Promise<Store> {
  const store = await openMemoryStore()
  stores.push(store)
  return store
}

test('LE-14 many hosts create the missing collection at once, and its database', async () => {
  const store = await openStore()
  const database = store.database('shop')
  const groups = await Promise.all(
    [1, 2, 3, 4].map(() =>
      new DocumentLeaseStore(database.collection('leases')).openGroup('group'),
    ),
  )
  for (const [index, group] of groups.entries()) {
    const reply = await group.sync(syncRequest(hostIdentity(`host-${index}`), 'join'))
    expect(reply).toMatchObject({ kind: 'ok', membershipVersion: index + 1 })
  }
})

test('LE-14 a collection with another partition key is named and left alone', async () => {
  const store = await openStore()
  const database = await store.createDatabase('shop')
  await database.createCollection({ id: 'orders', partitionKey: ['/customerId', '/id'] })
  const wrong = new DocumentLeaseStore(database.collection('orders')).openGroup('group')
  await expect(wrong).rejects.toMatchObject({ code: 'ERR_LEASE_STORAGE' })
  await expect(wrong).rejects.toThrow(/"orders".*\/customerId/)
})

test('a collection that goes away while hosts run is a storage error, a closed store stays a closed one', async () => {
  const store = await openStore()
  const database = await store.createDatabase('shop')
  const collection = await database.createCollection({
    id: 'leases',
    partitionKey: '/partitionKey',
  })
  const group = await new DocumentLeaseStore(collection).openGroup('group')
  await database.deleteCollection('leases')
  await expect(group.read()).rejects.toMatchObject({ code: 'ERR_LEASE_STORAGE' })
  await expect(group.sync(syncRequest(hostIdentity('a'), 'join'))).rejects.toMatchObject({
    code: 'ERR_LEASE_STORAGE',
  })
  await store.close()
  await expect(group.read()).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
})
