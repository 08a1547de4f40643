import { MemoryLeaseStore } from '@tidemark/processor'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { migrationWriter } from '../migration/migration-writer.ts'
import { openMigrationStorage } from '../migration/open-migration-storage.ts'
import { NEVER } from '../workers/job-groups.ts'
import { STATE_PARTITION_KEY } from './ledger.ts'
import { reconcileNote, reconciler } from './reconcile.ts'

test('a reconcile that several workers owe is done when the first of them has done it; one that is owed later is not', async () => {
  await using store = await openMemoryStore()
  const state = { id: 'state', partitionKey: STATE_PARTITION_KEY }
  const note = reconcileNote(await store.database('db').createCollectionIfNotExists(state))
  expect(await note.isOwed()).toBe(false)
  const [first, second, third] = await Promise.all([note.owe(), note.owe(), note.owe()])
  expect(await note.isOwed()).toBe(true)
  await first()
  expect(await note.isOwed()).toBe(false)
  await second()
  const later = await note.owe()
  await third()
  expect(await note.isOwed()).toBe(true)
  await later()
  expect(await note.isOwed()).toBe(false)
})

test('many ranges reconcile at once and do not refuse the commits of each other', async () => {
  await using store = await openMemoryStore()
  const database = store.database('db')
  const orders = { id: 'orders', partitionKey: '/id', partitionCount: 64 }
  const source = await database.createCollectionIfNotExists(orders)
  const ids = Array.from({ length: 500 }, (_, n) => `order ${n}`)
  for (const id of ids) await source.upsert({ id })
  const mapDocument = (order: { readonly id: string }): { readonly id: string } => order
  const target = { database, id: 'copies', partitionKey: '/id' }
  const migration = { job: 'copy', source, target, leases: new MemoryLeaseStore(), mapDocument }
  const storage = await openMigrationStorage(migration, 'state')
  const writer = migrationWriter(storage, mapDocument)
  const ranges = await source.readFeedRanges()
  for (const range of ranges) {
    const { continuation } = await source.resolveStart({ range, start: 'beginning' })
    const { changes } = await source.readPage({ range, continuation, maxItemCount: 100 })
    await writer.apply(changes, { group: 'documents', range, epoch: 1, hostName: 'host' }, NEVER)
  }
  for (const id of ids) await source.delete(id, id)
  const { note } = storage
  const reconcile = reconciler(source, { writer, note, hostName: 'host' })
  await Promise.all(ranges.map(async (range) => reconcile?.within(range, NEVER)))
  expect(await storage.target.count()).toBe(0)
})
