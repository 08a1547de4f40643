import { readFile } from 'node:fs/promises'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tidemark } from './cli/commands/command-runner.child.ts'
import { openStore } from './index.ts'

/* What docs/guide/postgresql.md tells to do: its SQL is run, its snippets are compiled. */

const GUIDE = new URL('../../../docs/guide/postgresql.md', import.meta.url)

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function snippets(language: string): Promise<readonly string[]> {
  const text = await readFile(GUIDE, 'utf8')
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')
  return [...text.matchAll(fence)].map(([, snippet = '']) => snippet)
}

test('the SQL of the guide runs: roles, a restored dump, what to watch', async () => {
  const url = new URL(await server.createDatabase())
  const database = url.pathname.slice(1)
  const owner = `owner_${database.slice(-12)}`
  const worker = `worker_${database.slice(-12)}`
  const as = (role: string): string => {
    const own = new URL(url)
    own.username = role
    return own.href
  }
  await using admin = await connect(url.href)
  const [roles = '', restored = '', ...watching] = await snippets('sql')
  await admin.run(
    roles
      .replaceAll('tidemark_owner', owner)
      .replaceAll('tidemark_worker', worker)
      .replace('DATABASE shop', `DATABASE ${database}`),
  )
  try {
    const made = await tidemark('init', as(owner), '--grant-to', worker)
    expect(made).toMatchObject({ code: 0, errors: '' })
    expect(await tidemark('store', 'check', as(worker))).toMatchObject({ code: 0 })
    await using store = await openStore({ url: as(worker), schemaManagement: 'none' })
    const orders = await store
      .database('shop')
      .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
    const before = await orders.upsert({ id: 'o1' })
    await admin.run(restored)
    const after = await orders.upsert({ id: 'o2' })
    expect(after.lsn - before.lsn).toBeGreaterThan(2 ** 20)
    expect(watching).toHaveLength(5)
    const rows = []
    for (const look of watching) rows.push(await admin.run(look))
    const [sizes = [], activity = [], , ranges = []] = rows
    expect(sizes.map(({ relname }) => relname)).toContain('doc')
    expect(activity.length).toBeGreaterThan(0)
    const lsn = String(after.lsn)
    expect(ranges).toMatchObject([{ database: 'shop', collection: 'orders', range: 0, lsn }])
  } finally {
    for (const role of [worker, owner]) await admin.run(`DROP OWNED BY ${role} CASCADE`)
    for (const role of [worker, owner]) await admin.run(`DROP ROLE ${role}`)
  }
})

test('the snippets of the guide compile', async () => {
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
  const all = await snippets('ts')
  expect(all).toHaveLength(2)
  for (const snippet of all) expect(here).toContain(squeezed(snippet))
  // Nobody listens at those addresses.
  expect([inTwoCommands, withOptions]).toHaveLength(2)
})

async function inTwoCommands(): Promise<unknown> {
  const store = await openStore('postgres://tidemark:tidemark@localhost/tidemark')
  return store.close()
}

async function withOptions(): Promise<unknown> {
  const store = await openStore({
    url: 'postgres://tidemark_worker@db.example.org/shop?sslmode=verify-full',
    replicaUrl: 'postgres://tidemark_worker@replica.example.org/shop?sslmode=verify-full',
    schemaManagement: 'none',
    maxConnections: 10,
  })
  return store.close()
}

async function connect(
  url: string,
): Promise<AsyncDisposable & { run(text: string): Promise<Record<string, unknown>[]> }> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return {
    run: async (text) => (await client.query<Record<string, unknown>>(text)).rows,
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
