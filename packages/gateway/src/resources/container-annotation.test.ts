import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { annotationOf } from './container-annotation.ts'

const uniqueKeyPolicy = { uniqueKeys: [{ paths: ['/a'] }] }

test('unique keys are told where the store holds them, and not where only an annotation has them', async () => {
  await using store = await openMemoryStore()
  const annotation = JSON.stringify({ echo: { id: 'c', uniqueKeyPolicy } })
  const options = { partitionKey: '/pk', annotation }
  const database = store.database('db')
  const older = await database.createCollectionIfNotExists({ id: 'older', ...options })
  const present = await database.createCollection({
    id: 'present',
    ...options,
    uniqueKeys: [['/a']],
  })
  expect(annotationOf(await older.readRecord()).echo).toEqual({ id: 'c' })
  expect(annotationOf(await present.readRecord()).echo).toEqual({ id: 'c', uniqueKeyPolicy })
})

test('a container that has none may say so', async () => {
  await using store = await openMemoryStore()
  const echo = { id: 'c', uniqueKeyPolicy: { uniqueKeys: [] } }
  const collection = await store.database('db').createCollectionIfNotExists({
    id: 'c',
    partitionKey: '/pk',
    annotation: JSON.stringify({ echo }),
  })
  expect(annotationOf(await collection.readRecord()).echo).toEqual(echo)
})
