import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import { Store, type Collection } from '@tidemark/store'
import { ReadLedger, SimulatedClock } from '@tidemark/testing'
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
  readonly ttl?: number
}

async function itemsIn(store: Store): Promise<Collection<Item>> {
  const items = await store
    .database('db')
    .createCollectionIfNotExists<Item>({ id: 'items', partitionKey: '/pk', defaultTtl: -1 })
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
            { kind: 'create', document: { id: place(writes), pk: 'one', n: writes } },
            ...(writes === 0 ? [] : [{ kind: 'delete', id: place(writes - 1) } as const]),
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
          const moved = documents.filter(({ id }) => id.includes('-'))
          const ends = documents.filter(({ id }) => id === 'd000000' || id === 'd015999')
          const ns = [...ends, ...moved]
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

test('what changes between two turns is as it is in the last one', async () => {
  const clock = new SimulatedClock()
  const engine = openMemoryEngine({ clock })
  await using store = await Store.open({ engine, maintenance: 'manual' })
  const items = await itemsIn(store)
  const read = async (meanwhile: (turn: number) => Promise<unknown>): Promise<string[]> => {
    const reading = items.readPartition('one')
    for (let turn = 0; turn < 8; turn++) {
      await eventLoopTurn()
      await meanwhile(turn)
    }
    return (await reading).documents.map(({ id }) => id)
  }
  const deleted = await read(async (turn) => turn === 0 && items.delete('d000500', 'one'))
  expect(deleted).toHaveLength(DOCUMENTS - 1)
  expect(deleted).not.toContain('d000500')
  const rewritten = await read((turn) =>
    Promise.all(
      Array.from({ length: 16 }, (_, at) => {
        const id = `d${String(at * 1000 + 501).padStart(6, '0')}`
        return items.upsert({ id, pk: 'one', n: turn })
      }),
    ),
  )
  expect(rewritten).toEqual(deleted)
  await items.create({ id: 'a', pk: 'one', ttl: 1 })
  const expired = await read(async (turn) => {
    if (turn > 0) return
    await clock.advance(2_100)
    await items.create({ id: 'z', pk: 'one' })
  })
  expect(expired).toEqual([...deleted, 'z'])
})

test('is left where its caller gives up', async () => {
  await using store = await Store.open({ engine: openMemoryEngine(), maintenance: 'manual' })
  const items = await itemsIn(store)
  const gone = new AbortController()
  const reading = items.readPartition('one', { signal: gone.signal })
  await eventLoopTurn()
  gone.abort(new Error('gone'))
  await expect(reading).rejects.toThrow('gone')
})

/** Before all others, in the middle and behind, in turn. */
function place(n: number): string {
  return `${['c', 'd008000', 'm'][n % 3]}-${n}`
}
