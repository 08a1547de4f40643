import type { BulkOperation, DocumentBody } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import { sharedPostgres } from '@tidemark/testing/servers'
import { afterAll, expect, test } from 'vitest'
import { openPostgresEngine } from './postgres-engine.ts'

const server = await sharedPostgres()
afterAll(() => server[Symbol.asyncDispose]())

interface Doc extends DocumentBody {
  readonly n: number
}

test.each([1, 2, 10])(
  'ST-12 a bulk waits where no more than %i commits may',
  async (maxPendingCommits) => {
    const url = await server.createDatabase()
    const engine = await openPostgresEngine({ url, maxPendingCommits })
    await using store = await Store.open({ engine, maintenance: 'manual' })
    const documents = await store
      .database('db')
      .createCollectionIfNotExists<Doc>({ id: 'coll', partitionKey: '/id' })
    const ids = Array.from({ length: 300 }, (_, n) => `d${n}`)
    const creates = ids.map((id) => ({ kind: 'create', document: { id, n: 0 } }) as const)
    const patches = ids.map((id): BulkOperation<Doc> => {
      return {
        kind: 'patch',
        id,
        partitionKey: id,
        operations: [{ op: 'set', path: '/n', value: 1 }],
      }
    })
    for (const operations of [creates, patches]) {
      for await (const outcome of documents.bulk(operations)) expect(outcome.kind).toBe('written')
    }
    expect(await documents.count()).toBe(300)
  },
)
