import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Collection } from '@tidemark/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark, tidemarkReading, type EndedCommand } from './command-runner.child.ts'

let folder: string
let data: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-documents-'))
  data = join(folder, 'data')
  await withOrders(async (orders) => {
    await orders.upsert({ id: 'o1', customerId: 'c7', total: 12 })
    await orders.upsert({ id: 'o2', customerId: 'c7', total: 5 })
    await orders.upsert({ id: 'o2', customerId: 7, total: 6 })
    await orders.upsert({ id: 'o2', customerId: '7', total: 7 })
  })
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Opens the store as a program does beside the command. */
async function withOrders<Result>(
  act: (orders: Collection<{ id: string; [name: string]: unknown }>) => Promise<Result>,
): Promise<Result> {
  await using store = await openStore({
    folder: data,
    durability: 'relaxed',
    maintenance: 'manual',
  })
  return await act(
    await store
      .database('shop')
      .createCollectionIfNotExists({ id: 'orders', partitionKey: '/customerId' }),
  )
}

const on = (...args: readonly string[]): Promise<EndedCommand> => tidemark(...args, '--store', data)
const reading = (text: string, ...args: readonly string[]): Promise<EndedCommand> =>
  tidemarkReading(Readable.from([text]), ...args, '--store', data)

/** Everything that is in the collection, to see that nothing changed. */
async function contents(): Promise<unknown> {
  return withOrders(async (orders) => (await orders.readDocuments()).documents)
}

test('get finds a document by its id, and by its key where several have the id', async () => {
  const { code, output } = await on('get', 'shop/orders', 'o1')
  expect(code).toBe(0)
  expect(output).toContain('\n  "total": 12,\n')
  expect(JSON.parse(output)).toMatchObject({ id: 'o1', customerId: 'c7', _lsn: 1 })
  const several = await on('get', 'shop/orders', 'o2')
  expect(several).toMatchObject({ code: 1, output: '' })
  expect(several.errors).toMatch(
    /^tidemark: ERR_INVALID_OPTION: several documents have the id "o2": .*--partition-key, which is/,
  )
  for (const [key, total] of [
    ['c7', 5],
    ['7', 6],
    ['"7"', 7],
    ['["7"]', 7],
  ] as const) {
    // As the error named it.
    expect(several.errors).toContain(key.replaceAll(/[[\]]/g, ''))
    const found = await on('get', 'shop/orders', 'o2', '--partition-key', key, '--json')
    expect(jsonLines(found.output)).toMatchObject([{ id: 'o2', total }])
  }
})

test('a collection whose partition key is the id, and a hierarchical one', async () => {
  await on('create', 'shop/users', '--partition-key', '/id')
  await on('create', 'shop/logins', '--partition-key', '/tenant,/user')
  await on('put', 'shop/users', '{"id":"7"}')
  await on('put', 'shop/logins', '{"id":"l","tenant":"acme","user":7}')
  await on('put', 'shop/logins', '{"id":"l","tenant":"acme"}')
  expect((await on('get', 'shop/users', '7')).code).toBe(0)
  const login = (...keys: readonly string[]) =>
    on('get', 'shop/logins', 'l', ...keys.flatMap((key) => ['--partition-key', key]), '--json')
  expect(jsonLines((await login('acme', '7')).output)).toMatchObject([{ user: 7 }])
  expect(jsonLines((await login('["acme",{}]')).output)).toMatchObject([{ tenant: 'acme' }])
  expect(await login('acme')).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^tidemark: ERR_INVALID_PARTITION_KEY: /),
  })
  expect(await on('count', 'shop/logins', '--partition-key', 'acme')).toMatchObject({
    output: '2\n',
  })
})

test('put creates, replaces, refuses; what get prints can be put back', async () => {
  expect(await on('put', 'shop/orders', ' {"id":"o3","customerId":"c1"}')).toMatchObject({
    code: 0,
    output: 'created: o3\n',
  })
  const { output } = await on('get', 'shop/orders', 'o1')
  expect(await reading(output.replace('12', '13'), 'put', 'shop/orders')).toMatchObject({
    code: 0,
    output: 'replaced: o1\n',
  })
  const [o1] = jsonLines((await on('get', 'shop/orders', 'o1', '--json')).output)
  expect(o1).toMatchObject({ total: 13 })
  const before = await contents()
  const { _etag: stale } = JSON.parse(output) as { _etag: string }
  for (const [flags, code] of [
    [['--if-match', stale], 'ERR_PRECONDITION_FAILED'],
    [['--create-only'], 'ERR_EXISTS'],
  ] as const) {
    const refused = await reading(output, 'put', 'shop/orders', '-', ...flags)
    expect(refused).toMatchObject({ code: 1, output: '' })
    expect(refused.errors).toMatch(new RegExp(`^tidemark: ${code}: [^\\n]+\\n$`))
  }
  expect(await contents()).toEqual(before)
  const { _etag: present } = o1 as { _etag: string }
  const put = await reading(output, 'put', 'shop/orders', '--if-match', present, '--json')
  expect(jsonLines(put.output)).toMatchObject([{ id: 'o1', total: 12 }])
})

test('put of several: those that are refused are named, the others are written', async () => {
  const file = join(folder, 'orders.jsonl')
  await writeFile(
    file,
    '{"id":"n1","customerId":"c1"}\n{"customerId":"c1"}\n{"id":"o1","customerId":"c7"}',
  )
  const put = await on('put', 'shop/orders', file, '--create-only')
  expect(put).toMatchObject({ code: 1, output: 'put 1 documents, 2 bad\n' })
  expect(put.errors).toMatch(/^line 2: .*"id"/m)
  expect(put.errors).toMatch(/^line 3: ERR_EXISTS: /m)
  const array = '[{"id":"n2","customerId":"c1"},{"id":"n3","customerId":"c1"}]'
  expect(await on('put', 'shop/orders', array, '--json')).toMatchObject({
    code: 0,
    output: '{"documents":2,"bad":0}\n',
  })
  expect(await on('count', 'shop/orders')).toMatchObject({ output: '7\n' })
})

test('a document of 2 MB goes through', async () => {
  const large = JSON.stringify({ id: 'large', customerId: 'c1', text: 'x'.repeat(2_000_000) })
  expect(await reading(large, 'put', 'shop/orders')).toMatchObject({ output: 'created: large\n' })
  const { output } = await on('get', 'shop/orders', 'large', '--json')
  expect(jsonLines(output)).toMatchObject([JSON.parse(large) as object])
})

test('set changes, adds and removes properties in one step', async () => {
  const steps = ['/state=paid', '/zip="01067"', '/total+=2.5', '/tags=["a"]', '/tags/-=b']
  const set = await on('set', 'shop/orders', 'o1', ...steps, '--json')
  expect(jsonLines(set.output)).toMatchObject([
    { id: 'o1', state: 'paid', zip: '01067', total: 14.5, tags: ['a', 'b'] },
  ])
  expect(
    await on('set', 'shop/orders', 'o1', '--remove', '/zip', '--remove', '/tags'),
  ).toMatchObject({
    code: 0,
    output: 'changed: o1\n',
  })
  const [o1] = jsonLines((await on('get', 'shop/orders', 'o1', '--json')).output)
  expect(o1).not.toHaveProperty('zip')
  expect(o1).not.toHaveProperty('tags')
})

test('rm deletes one document, count counts the rest', async () => {
  expect(await on('rm', 'shop/orders', 'o2', '--partition-key', '7')).toMatchObject({
    code: 0,
    output: 'deleted: o2\n',
  })
  expect(await on('count', 'shop/orders')).toMatchObject({ output: '3\n' })
  expect(await on('count', 'shop/orders', '--partition-key', 'c7', '--json')).toMatchObject({
    output: '{"documents":2}\n',
  })
  expect(await on('count', 'shop/orders', '--partition-key', '7')).toMatchObject({ output: '0\n' })
})

test.each([
  [['get', 'shop/orders', 'none'], 1, 'ERR_NOT_FOUND: document "none"'],
  [['get', 'shop/orders', 'o1', '--partition-key', 'c8'], 1, 'ERR_NOT_FOUND: document "o1"'],
  [['get', 'shop/none', 'o1'], 1, 'ERR_NOT_FOUND: collection "none"'],
  [['get', 'none/orders', 'o1'], 1, 'ERR_NOT_FOUND: database "none"'],
  [['get', 'orders', 'o1'], 2, 'ERR_USAGE: .*database/collection'],
  [['get', 'shop/orders'], 2, "ERR_USAGE: missing required argument 'id'"],
  [['get', 'shop/orders', 'o1', '--partition-key', '{"a":1}'], 2, 'ERR_USAGE: '],
  [
    ['get', 'shop/orders', 'o1', '--partition-key', '12345678901234567890'],
    2,
    'ERR_USAGE: .*rounded',
  ],
  [['put', 'shop/orders', '{"id":"x"'], 1, 'ERR_INPUT: line 1: '],
  [['put', 'shop/orders', '{"customerId":"c7"}'], 1, 'ERR_INPUT: line 1: its "id" is missing'],
  [['put', 'shop/orders', '[]'], 1, 'ERR_INPUT: there is no document'],
  [['put', 'shop/orders', 'gone.json'], 1, 'ERR_INPUT: .*gone.json'],
  [['put', 'shop/orders'], 1, 'ERR_INPUT: there is no document'],
  [['put', 'shop/orders', '{"id":"a/b","customerId":"c7"}'], 1, 'ERR_INVALID_DOCUMENT: '],
  [
    ['put', 'shop/orders', '[{"id":"a"},{"id":"b"}]', '--if-match', 'x'],
    1,
    'ERR_INPUT: --if-match',
  ],
  [['put', 'shop/orders', '{}', '--if-match', 'x', '--create-only'], 2, 'ERR_USAGE: '],
  [['put', 'shop/none', '{"id":"a"}'], 1, 'ERR_NOT_FOUND: '],
  [['set', 'shop/orders', 'o1'], 2, 'ERR_USAGE: give a /path=value'],
  [['set', 'shop/orders', 'o1', 'total=1'], 2, 'ERR_USAGE: .*/path=value'],
  [['set', 'shop/orders', 'o1', '/n=12345678901234567890'], 2, 'ERR_USAGE: .*rounded'],
  [['set', 'shop/orders', 'o1', '/total+=much'], 2, 'ERR_USAGE: .*number'],
  [['set', 'shop/orders', 'o1', '/total=1', '/customerId=c8'], 1, 'ERR_INVALID_PATCH: '],
  [['set', 'shop/orders', 'o1', '/total=1', '/a/b=1'], 1, 'ERR_INVALID_PATCH: '],
  [['set', 'shop/orders', 'o1', '/total=1', '--if-match', 'x'], 1, 'ERR_PRECONDITION_FAILED: '],
  [['set', 'shop/orders', 'none', '/total=1'], 1, 'ERR_NOT_FOUND: document "none"'],
  [['set', 'shop/orders', 'o2', '/total=1'], 1, 'ERR_INVALID_OPTION: several documents'],
  [['rm', 'shop/orders', 'none'], 1, 'ERR_NOT_FOUND: document "none"'],
  [['rm', 'shop/orders', 'o2'], 1, 'ERR_INVALID_OPTION: several documents'],
  [['rm', 'shop/orders', 'o1', '--if-match', 'x'], 1, 'ERR_PRECONDITION_FAILED: '],
  [['count', 'shop/none'], 1, 'ERR_NOT_FOUND: '],
])('%j is one line with a code, and changes nothing', async (args, code, told) => {
  const before = await contents()
  const ended = await on(...args)
  expect(ended).toMatchObject({ code, output: '' })
  expect(ended.errors).toMatch(new RegExp(`^tidemark: ${told}[^\\n]*\\n$`))
  expect(await contents()).toEqual(before)
})

test('a store that does not exist is an error, and is not made', async () => {
  const none = join(folder, 'none')
  for (const args of [
    ['ls'],
    ['ls', 'shop'],
    ['ls', 'shop/orders'],
    ['get', 'shop/orders', 'o1'],
    ['put', 'shop/orders', '{"id":"a"}'],
    ['set', 'shop/orders', 'o1', '/a=1'],
    ['rm', 'shop/orders', 'o1'],
    ['count', 'shop/orders'],
    ['create', 'shop/orders', '--partition-key', '/id'],
    ['drop', 'shop', '--yes'],
  ]) {
    const { code, errors } = await tidemark(...args, '--store', none)
    expect({ args, code }).toEqual({ args, code: 1 })
    expect(errors).toMatch(/^tidemark: ERR_INPUT: [^\n]*no such folder[^\n]*\n$/)
    expect(existsSync(none)).toBe(false)
  }
})
