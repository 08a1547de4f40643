import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { STATE_PARTITION_KEY } from './ledger.ts'
import { reconcileNote } from './reconcile.ts'

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
