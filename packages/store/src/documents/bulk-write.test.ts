import { setImmediate } from 'node:timers/promises'
import type { BulkOperation, DocumentBody } from '@tidemark/contracts'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test, vi } from 'vitest'

interface TextDocument extends DocumentBody {
  readonly text: string
}

test.each([
  { of: 'operations', text: '', limit: 16_384, chunk: 256 },
  { of: 'characters', text: 'x'.repeat(2 ** 20), limit: 16, chunk: 1 },
])(
  'ST-12 an engine that does not answer gets no more than its share of $of',
  async ({ text, limit, chunk }) => {
    await using store = await openMemoryStore({})
    const documents = await store
      .database('db')
      .createCollectionIfNotExists<TextDocument>({ id: 'coll', partitionKey: '/id' })
    const { engine } = await documents.open()
    const held = Promise.withResolvers<void>()
    const commitEach = engine.commitEach?.bind(engine)
    const spy = vi.spyOn(engine, 'commitEach').mockImplementation(async (batches) => {
      await held.promise
      return (await commitEach?.(batches)) ?? []
    })
    let read = 0
    function* many(): Generator<BulkOperation<TextDocument>> {
      while (read < 3 * limit) yield { kind: 'create', document: { id: `d${read++}`, text } }
    }
    const bulk = documents.bulk(many())
    const first = bulk.next()
    let before = -1
    while (before < read) {
      before = read
      for (let turn = 0; turn < 5; turn++) await setImmediate()
    }
    // The chunk that was read last waits for room.
    expect(read).toBeGreaterThanOrEqual(limit)
    expect(read).toBeLessThanOrEqual(limit + chunk)
    held.resolve()
    expect(await first).toMatchObject({ value: { kind: 'written', created: true } })
    await bulk.return()
    expect(spy).toHaveBeenCalled()
    expect(await documents.count()).toBeLessThanOrEqual(read)
  },
)

test('ST-12 writes that read first are under way in a bounded number, and all are done', async () => {
  await using store = await openMemoryStore({})
  const documents = await store
    .database('db')
    .createCollectionIfNotExists<TextDocument>({ id: 'coll', partitionKey: '/id' })
  const { engine } = await documents.open()
  const ids = Array.from({ length: 1000 }, (_, n) => `d${n}`)
  await Promise.all(ids.map((id) => documents.create({ id, text: '' })))
  let most = 0
  let present = 0
  const commit = engine.commit.bind(engine)
  vi.spyOn(engine, 'commit').mockImplementation(async (request) => {
    most = Math.max(most, ++present)
    await setImmediate()
    try {
      return await commit(request)
    } finally {
      present--
    }
  })
  const patches = ids.map((id): BulkOperation<TextDocument> => {
    const operations = [{ op: 'set', path: '/text', value: id }] as const
    return { kind: 'patch', id, partitionKey: id, operations }
  })
  const kinds: string[] = []
  for await (const { kind } of documents.bulk(patches)) kinds.push(kind)
  expect(kinds).toEqual(ids.map(() => 'written'))
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(256)
})
