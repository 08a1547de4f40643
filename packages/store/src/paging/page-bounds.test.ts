import { FULL_RANGE } from '@tidemark/contracts'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'

const DOCUMENTS = 5_100

test('ST-8 CF-7 a page has 5000 documents or changes at most, and the next one has the rest', async () => {
  const store = await openMemoryStore({ maintenance: 'manual' })
  const items = await store
    .database('db')
    .createCollectionIfNotExists<{ id: string; pk: string }>({ id: 'items', partitionKey: '/pk' })
  for (let from = 0; from < DOCUMENTS; from += 100) {
    const ids = Array.from({ length: 100 }, (_, n) => `d${from + n}`)
    await items.batch(
      'p',
      ids.map((id) => ({ kind: 'create', document: { id, pk: 'p' } })),
    )
  }
  const many = { maxItemCount: 1_000_000 }
  for (const scope of [{}, { partitionKey: 'p' }]) {
    const { documents, continuation } = await items.readDocuments({ ...many, ...scope })
    const rest = await items.readDocuments({ ...many, ...scope, continuation })
    expect([documents.length, rest.documents.length]).toEqual([5_000, 100])
    expect(rest.continuation).toBeUndefined()
  }
  const range = FULL_RANGE
  const { continuation } = await items.resolveStart({ range, start: 'beginning' })
  const first = await items.readPage({ ...many, range, continuation })
  const rest = await items.readPage({ ...many, range, continuation: first.continuation })
  expect(first.changes.length).toBeLessThanOrEqual(5_000)
  expect(first.changes.length + rest.changes.length).toBe(DOCUMENTS)
  await store.close()
})
