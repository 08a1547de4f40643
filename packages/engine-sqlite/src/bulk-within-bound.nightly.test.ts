import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BulkOperation, DocumentBody } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteEngine } from './sqlite-engine.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

interface Doc extends DocumentBody {
  readonly n: number
}

test.each([1, 2, 10])(
  'ST-12 a bulk waits where no more than %i commits may',
  async (maxPendingCommits) => {
    const engine = await openSqliteEngine({ folder, maxPendingCommits })
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
