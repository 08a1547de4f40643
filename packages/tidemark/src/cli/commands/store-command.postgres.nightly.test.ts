import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function execute(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

test('init makes a store once, check finds it, migrate has nothing to do', async () => {
  const url = await server.createDatabase()
  const before = await tidemark('store', 'check', url)
  expect(before).toMatchObject({ code: 1, output: '' })
  expect(before.errors).toMatch(/^tidemark: ERR_STORE_FORMAT: .*tidemark init/)
  const made = await tidemark('init', url)
  expect(made).toMatchObject({ code: 0, errors: '' })
  expect(made.output).toMatch(
    /^made a store in schema tidemark, version 3, id [0-9a-f]{32}, on PostgreSQL \d+\.\d+\nnext: .*\n$/,
  )
  const store = made.output.slice('made '.length, made.output.indexOf('next: '))
  expect(await tidemark('init', url)).toMatchObject({
    code: 0,
    output: `there is already ${store}`,
  })
  expect(await tidemark('store', 'check', url)).toMatchObject({ code: 0, output: store })
  expect(await tidemark('store', 'migrate', url)).toMatchObject({
    code: 0,
    output: 'nothing to do: schema tidemark has version 3\n',
  })
})

test('a schema is named by --schema or in the URL, and the outcome is told as JSON', async () => {
  const url = await server.createDatabase()
  const made = await tidemark('init', url, '--schema', 'mine', '--json')
  expect(jsonLines(made.output)).toMatchObject([{ schema: 'mine', version: 3, created: true }])
  const checked = await tidemark('store', 'check', `${url}?schema=mine`, '--deep', '--json')
  expect(jsonLines(checked.output)).toMatchObject([{ schema: 'mine', problems: [] }])
  const wrong = await tidemark('store', 'migrate', url)
  expect(wrong.errors).toMatch(/^tidemark: ERR_STORE_FORMAT: there is no store in schema tidemark/)
})

test('a lost table is named, a schema of somebody else is refused', async () => {
  const url = await server.createDatabase()
  await tidemark('init', url)
  await execute(url, 'DROP TABLE tidemark.fence')
  expect(await tidemark('store', 'check', url)).toMatchObject({
    code: 1,
    errors: 'tidemark: ERR_STORE_DAMAGED: schema tidemark has lost table fence\n',
  })
  await execute(url, 'CREATE TABLE public.invoice(id integer)')
  const { code, errors } = await tidemark('init', url, '--schema', 'public')
  expect(code).toBe(1)
  expect(errors).toMatch(/^tidemark: ERR_STORE_IN_USE: schema public .*table invoice/)
})

test('check --deep lists contradictions and ends with 3', async () => {
  const url = await server.createDatabase()
  {
    await using store = await openStore(url)
    const orders = await store
      .database('shop')
      .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
    await orders.upsert({ id: 'o1' })
  }
  expect(await tidemark('store', 'check', url, '--deep')).toMatchObject({ code: 0 })
  await execute(url, 'UPDATE tidemark.doc SET lsn = 1000')
  expect(await tidemark('store', 'check', url)).toMatchObject({ code: 0 })
  const { code, output } = await tidemark('store', 'check', url, '--deep')
  expect(code).toBe(3)
  expect(output).toMatch(/\nshop: .*1000/)
})

test('a folder is checked by the same command', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-check-'))
  try {
    await using store = await openStore({ folder, durability: 'relaxed' })
    await store.database('shop').createCollectionIfNotExists({ id: 'a', partitionKey: '/id' })
    expect(await tidemark('store', 'check', folder, '--deep')).toEqual({
      code: 0,
      output: 'no contradictions\n',
      errors: '',
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  expect(await tidemark('store', 'check', folder)).toMatchObject({ code: 1 })
})

test('a role that init grants to works with the store by all commands, and cannot change its tables', async () => {
  const url = await server.createDatabase()
  const role = `worker_${new URL(url).pathname.slice(-12)}`
  await execute(url, `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)
  try {
    const made = await tidemark('init', url, '--grant-to', role)
    expect(made.output).toMatch(new RegExp(`\\nrole ${role} can use it\\n`))
    const as = new URL(url)
    as.username = role
    as.password = 'secret'
    const where = ['--store', as.href]
    {
      await using store = await openStore(as.href)
      const shop = store.database('shop')
      const orders = await shop.createCollectionIfNotExists({
        id: 'orders',
        partitionKey: '/id',
        defaultTtl: 1,
        pendingDeletes: { retentionSeconds: 0 },
      })
      for (let n = 0; n < 20; n += 1) await orders.upsert({ id: `o${n}` })
    }
    for (const args of [
      ['ranges', 'split', 'shop/orders', '0', ...where],
      ['ranges', 'merge', 'shop/orders', '1', '2', ...where],
      ['ttl', 'set', 'shop/orders', '3600', ...where],
      ['ttl', 'sweep', ...where],
      ['ttl', 'shop/orders', ...where],
      ['tail', 'shop/orders', '--from', 'beginning', '--no-follow', ...where],
      ['store', 'check', as.href, '--deep'],
      ['create', 'shop/carts', '--partition-key', '/user', '--unique', '/no', ...where],
      ['put', 'shop/carts', '{"id":"c1","user":7}', ...where],
      ['put', 'shop/carts', '[{"id":"c2","user":7,"no":1},{"id":"c3","user":8}]', ...where],
      ['set', 'shop/carts', 'c1', '/no+=2', ...where],
      ['get', 'shop/carts', 'c1', ...where],
      ['rm', 'shop/carts', 'c2', ...where],
      ['count', 'shop/carts', '--partition-key', '7', ...where],
      ['ls', ...where],
      ['ls', 'shop', ...where],
      ['ls', 'shop/carts', '--limit', '1', ...where],
      ['drop', 'shop/carts', '--yes', ...where],
    ]) {
      expect(await tidemark(...args)).toMatchObject({ code: 0 })
    }
    {
      await using store = await openStore(as.href)
      await store.deleteDatabase('shop')
      await store.runMaintenance()
    }
    await expect(execute(as.href, 'DROP TABLE tidemark.doc')).rejects.toThrow('must be owner')
  } finally {
    await execute(url, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)
  }
})

test('wrong arguments end with 2, and nothing is made', async () => {
  const url = await server.createDatabase()
  const wrong = await tidemark('store', 'migrate', './data')
  expect(wrong.code).toBe(2)
  expect(wrong.errors).toContain('ERR_USAGE')
  expect(await tidemark('store', 'migrate')).toMatchObject({ code: 2 })
  const nobody = await tidemark('init', url, '--grant-to', 'nobody-of-this-name')
  expect(nobody).toMatchObject({ code: 1 })
  expect(nobody.errors).toContain('ERR_INVALID_OPTION')
})
