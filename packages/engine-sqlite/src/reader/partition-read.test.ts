import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import { Store, type Collection } from '@tidemark/store'
import { ReadLedger } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { openMemoryEngine } from '../memory-engine.ts'
import { openSqliteEngine } from '../sqlite-engine.ts'

const DOCUMENTS = 16_000
/** A turn reads half of it; the rest is for what others read in that turn. */
const ROWS_A_TURN = 10_000

interface Item {
  readonly id: string
  readonly pk: string
  readonly n?: number
}

async function itemsIn(store: Store): Promise<Collection<Item>> {
  const items = await store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk' })
  for (let from = 0; from < DOCUMENTS; from += 100) {
    const ids = Array.from({ length: 100 }, (_, n) => `d${String(from + n).padStart(6, '0')}`)
    await items.batch(
      'one',
      ids.map((id) => ({ kind: 'create', document: { id, pk: 'one' } })),
    )
  }
  return items
}

const engines = [
  ['memory', async () => openMemoryEngine()],
  ['a folder', (folder: string) => openSqliteEngine({ folder, durability: 'relaxed' })],
] as const

for (const [name, open] of engines) {
  test(`a large partition key value in ${name} is read in turns, and is of one snapshot`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
    const store = await Store.open({ engine: await open(folder), maintenance: 'manual' })
    try {
      const items = await itemsIn(store)
      {
        using ledger = new ReadLedger()
        expect((await items.readPartition('one')).documents).toHaveLength(DOCUMENTS)
        expect(ledger.total.rows).toBeGreaterThanOrEqual(DOCUMENTS)
        expect(ledger.most.rows).toBeLessThanOrEqual(ROWS_A_TURN)
      }
      let writes = 0
      let isRead = false
      // One batch writes both ends, and moves a document from one place to another.
      const write = async (): Promise<void> => {
        for (; !isRead; writes++) {
          await items.batch('one', [
            { kind: 'upsert', document: { id: 'd000000', pk: 'one', n: writes } },
            { kind: 'upsert', document: { id: 'd015999', pk: 'one', n: writes } },
            { kind: 'create', document: { id: `m${place(writes)}`, pk: 'one', n: writes } },
            ...(writes === 0 ? [] : [{ kind: 'delete', id: `m${place(writes - 1)}` } as const]),
          ])
          await eventLoopTurn()
        }
      }
      const writing = write()
      for (let reads = 0; reads < 10; reads++) {
        const before = writes
        const { documents } = await items.readPartition('one')
        if (before > 0) {
          expect(documents).toHaveLength(DOCUMENTS + 1)
          const moved = documents.filter(({ id }) => id.startsWith('m'))
          const ns = [documents[0], documents.find(({ id }) => id === 'd015999'), ...moved]
          expect(new Set(ns.map((each) => each?.n)).size).toBe(1)
          // As of its last turn, not its first.
          expect(moved[0]?.n).toBeGreaterThanOrEqual(before - 1)
        }
        expect(documents.map(({ id }) => id)).toEqual(documents.map(({ id }) => id).toSorted())
      }
      isRead = true
      await writing
      expect(writes).toBeGreaterThan(10)
    } finally {
      await store.close()
      await rm(folder, { recursive: true })
    }
  })
}

/** Before all others, in the middle and behind, in turn. */
function place(n: number): string {
  return `${n % 7}-${n}`
}
