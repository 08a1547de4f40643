import type { Collection } from '@tidemark/store'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAt, type Note } from './store-with-faults.fixture.ts'

let postgres: SharedPostgres
beforeAll(async () => {
  postgres = await sharedPostgres()
})
afterAll(() => postgres[Symbol.asyncDispose]())

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** What the server copies has the same rows as a dump that is restored. */
async function copyOf(url: string): Promise<string> {
  const copy = await postgres.createDatabase()
  const [from, to] = [url, copy].map((each) => new URL(each).pathname.slice(1))
  const admin = new URL(url)
  admin.pathname = '/postgres'
  await run(admin.href, `DROP DATABASE ${to}`)
  await run(admin.href, `CREATE DATABASE ${to} TEMPLATE ${from}`)
  return copy
}

async function notesAt(
  url: string,
): Promise<{ readonly notes: Collection<Note>; close(): Promise<void> }> {
  const store = await openAt(url)
  const notes = await store
    .database('db')
    .createCollectionIfNotExists<Note>({ id: 'notes', partitionKey: '/key' })
  return { notes, close: () => store.close() }
}

async function write(notes: Collection<Note>, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++)
    await notes.create({ id: `d${n}`, key: `k${n}`, text: '' })
}

async function read(
  notes: Collection<Note>,
  from: 'beginning' | { readonly continuation: string },
): Promise<{ readonly ids: readonly string[]; readonly continuation: string }> {
  const ids: string[] = []
  let continuation = ''
  for await (const page of notes.changes({ from, follow: false })) {
    ids.push(...page.changes.map((each) => (each.kind === 'document' ? each.document.id : '')))
    ;({ continuation } = page)
  }
  return { ids: ids.toSorted(), continuation }
}

// As docs/guide/postgresql.md says it.
test.each([
  ['told', 'UPDATE tidemark.segment SET timeline = 0', ['d20', 'd21', 'd22', 'd23', 'd24', 'd25']],
  ['not told: five changes have LSNs of before', 'SELECT 1', ['d25']],
])(
  'CF-8 a reader ahead of a restored dump, of which the store is %s',
  async (_, statement, seen) => {
    const url = await postgres.createDatabase()
    const before = await notesAt(url)
    await write(before.notes, 0, 10)
    await before.close()
    const dump = await copyOf(url)
    const ahead = await notesAt(url)
    await write(ahead.notes, 10, 5)
    const { continuation } = await read(ahead.notes, 'beginning')
    await ahead.close()

    await run(dump, statement)
    const restored = await notesAt(dump)
    await write(restored.notes, 20, 6)
    expect((await read(restored.notes, { continuation })).ids).toEqual(seen)
    expect((await read(restored.notes, 'beginning')).ids).toHaveLength(16)
    await restored.close()
  },
)
