import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Store, type Collection } from '@tidemark/store'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresEngine } from '../postgres-engine.ts'

interface Note {
  readonly id: string
  readonly of: string
  readonly text?: string
}

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function openNotes(): Promise<
  AsyncDisposable & { store: Store; notes: Collection<Note>; transactions: () => Promise<number> }
> {
  const pool = new Pool({ connectionString: await server.createDatabase(), max: 8 })
  pool.on('error', () => {})
  const store = await Store.open({ engine: await openPostgresEngine({ pool }) })
  const notes = await store
    .database('shop')
    .createCollectionIfNotExists<Note>({ id: 'notes', partitionKey: '/of', partitionCount: 4 })
  return {
    store,
    notes,
    // Each statement of a read is a transaction.
    transactions: async () => {
      await pool.query('SELECT pg_stat_force_next_flush()')
      const { rows } = await pool.query<{ count: string }>(
        'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
      )
      return Number(rows[0]?.count)
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      await pool.end()
    },
  }
}

test('many reads side by side get each its own document, the newest, in a few statements', async () => {
  await using opened = await openNotes()
  const { notes, transactions } = opened
  await Promise.all(
    Array.from({ length: 600 }, (_, n) => notes.upsert({ id: `n${n}`, of: `k${n % 7}` })),
  )
  const before = await transactions()
  const found = await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => notes.read(`n${n}`, `k${n % 7}`)),
  )
  const statements = (await transactions()) - before
  const ids = found.map(({ document }) => document?.id)
  expect(ids).toEqual(Array.from({ length: 1_000 }, (_, n) => (n < 600 ? `n${n}` : undefined)))
  expect(statements).toBeGreaterThan(2)
  expect(statements).toBeLessThan(100)
  // A key is more than the id.
  const others = await Promise.all(Array.from({ length: 20 }, () => notes.read('n1', 'k2')))
  expect(others.every(({ document }) => document === undefined)).toBe(true)
})

test('a read that follows a write sees it, however many wait beside it', async () => {
  await using opened = await openNotes()
  const { notes } = opened
  const turns = Array.from({ length: 50 }, async (_, n) => {
    for (let text = 0; text < 10; text += 1) {
      await notes.upsert({ id: `n${n}`, of: 'k', text: String(text) })
      const { document } = await notes.read(`n${n}`, 'k')
      expect(document?.text).toBe(String(text))
    }
  })
  await Promise.all(turns)
})

test('large documents come in several statements, none is left out', async () => {
  await using opened = await openNotes()
  const { notes } = opened
  const ids = Array.from({ length: 20 }, (_, n) => `n${n}`)
  for (const id of ids) await notes.upsert({ id, of: 'k', text: id.padEnd(1_500_000, '.') })
  const found = await Promise.all(ids.map((id) => notes.read(id, 'k')))
  expect(found.map(({ document }) => document?.text?.slice(0, 4))).toEqual(
    ids.map((id) => id.padEnd(4, '.')),
  )
})

test('a collection that is gone, and what cannot be a key, fail their own reads only', async () => {
  await using opened = await openNotes()
  const { store, notes } = opened
  const shop = store.database('shop')
  const gone = await shop.createCollectionIfNotExists<Note>({ id: 'gone', partitionKey: '/of' })
  await gone.upsert({ id: 'n', of: 'k' })
  await notes.upsert({ id: 'n', of: 'k' })
  await shop.deleteCollection('gone')
  const read = Array.from({ length: 30 }, (_, n) => (n % 3 === 0 ? gone : notes).read('n', 'k'))
  const results = await Promise.allSettled([...read, notes.read('n\0', 'k')])
  const states = results.map((result) =>
    result.status === 'fulfilled' ? result.value.document?.id : 'rejected',
  )
  expect(states).toEqual([
    ...Array.from({ length: 30 }, (_, n) => (n % 3 === 0 ? 'rejected' : 'n')),
    'rejected',
  ])
  await store.close()
  await expect(notes.read('n', 'k')).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
})
