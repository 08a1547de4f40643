import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openStore } from '../../open-store.ts'
import { runCommand } from '../run-command.ts'
import { jsonLines, tidemark, tidemarkReading, type EndedCommand } from './command-runner.child.ts'

let folder: string
let data: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-places-'))
  data = join(folder, 'data')
  vi.stubEnv('TIDEMARK_STORE', undefined)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

const on = (...args: readonly string[]): Promise<EndedCommand> => tidemark(...args, '--store', data)

test('init makes a store once and says what is next', async () => {
  const made = await tidemark('init', data)
  expect(made).toMatchObject({ code: 0, errors: '' })
  expect(made.output).toMatch(
    /^made a store in .*data\nnext: .*TIDEMARK_STORE.*tidemark create .*\n$/,
  )
  expect(await on('ls')).toMatchObject({ code: 0, output: 'no databases\n' })
  const again = await tidemark('init', data, '--json')
  expect(jsonLines(again.output)).toMatchObject([{ created: false }])
  const empty = join(folder, 'empty')
  await mkdir(empty)
  const [{ created, storeId } = {}] = jsonLines((await tidemark('init', empty, '--json')).output)
  expect(created).toBe(true)
  await using store = await openStore(empty)
  expect(store.id).toBe(storeId)
})

test('init refuses a folder that holds something else, and leaves it as it is', async () => {
  await writeFile(join(folder, 'notes.txt'), 'mine')
  expect(await tidemark('init', folder)).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^tidemark: ERR_STORE_IN_USE: [^\n]+\n$/),
  })
  expect(await readdir(folder)).toEqual(['notes.txt'])
  expect(await tidemark('init', join(folder, 'notes.txt'))).toMatchObject({ code: 1, output: '' })
  for (const args of [[], [data, '--grant-to', 'worker'], [':memory:']]) {
    const { code, errors } = await tidemark('init', ...args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(errors).toMatch(/^tidemark: ERR_USAGE: [^\n]+\n$/)
  }
  expect(existsSync(data)).toBe(false)
})

test('create, ls and drop of collections and databases', async () => {
  await tidemark('init', data)
  const flags = ['--ttl', '60', '--all-versions', '3600', '--partition-count', '2']
  const unique = ['--unique', '/email', '--unique', '/first,/last']
  const key = ['--partition-key', '/tenant,/user']
  const created = await on('create', 'shop/users', ...key, ...flags, ...unique)
  expect(created).toMatchObject({ code: 0, errors: '' })
  expect(created.output).toMatch(
    /\nusers +\/tenant,\/user +2 +0 +60 +3600 s +\/email \/first,\/last\n$/,
  )
  await on('create', 'shop/orders', '--partition-key', '/customerId')
  await on('put', 'shop/orders', '{"id":"o1","customerId":"c7"}')
  expect((await on('ls')).output).toBe('DATABASE  COLLECTIONS\nshop                2\n')
  expect(jsonLines((await on('ls', '--json')).output)).toEqual([
    { database: 'shop', collections: 2 },
  ])
  const [orders, users] = jsonLines((await on('ls', 'shop', '--json')).output)
  expect(orders).toMatchObject({
    collection: 'orders',
    partitionKey: ['/customerId'],
    pkRanges: 1,
    documents: 1,
    defaultTtl: null,
    allVersions: null,
    uniqueKeys: [],
  })
  expect(users).toMatchObject({
    database: 'shop',
    collection: 'users',
    pkRanges: 2,
    defaultTtl: 60,
    allVersions: { retentionSeconds: 3_600 },
    uniqueKeys: [['/email'], ['/first', '/last']],
  })
  expect((await on('ls', 'shop')).output).toMatch(/\norders +\/customerId +1 +1 +off +off +-\n/)
  expect(await on('drop', 'shop/users', '--yes')).toMatchObject({ output: 'deleted: shop/users\n' })
  expect(jsonLines((await on('ls', 'shop', '--json')).output)).toHaveLength(1)
  expect(await on('drop', 'shop', '--yes', '--json')).toMatchObject({
    output: '{"deleted":"shop"}\n',
  })
  expect(await on('ls', 'shop')).toMatchObject({ code: 1, output: '' })
})

test('drop asks, names what is lost, and does nothing without a yes', async () => {
  await tidemark('init', data)
  await on('create', 'shop/orders', '--partition-key', '/customerId')
  await on('put', 'shop/orders', '{"id":"o1","customerId":"c7"}')
  const answering = (answer: string): Promise<EndedCommand> => {
    const input = Object.assign(Readable.from([answer]), { isTTY: true })
    return tidemarkReading(input, 'drop', 'shop/orders', '--store', data)
  }
  const unasked = await on('drop', 'shop/orders')
  expect(unasked).toMatchObject({ code: 2, output: '' })
  expect(unasked.errors).toMatch(
    /shop\/orders with all of its documents \(1\); confirm with --yes\n$/,
  )
  const denied = await answering('n\n')
  expect(denied).toMatchObject({ code: 1, output: '' })
  expect(denied.errors).toContain('Continue? [y/N]')
  expect(await on('count', 'shop/orders')).toMatchObject({ output: '1\n' })
  expect(await answering('y\n')).toMatchObject({ code: 0, output: 'deleted: shop/orders\n' })
  expect((await on('drop', 'shop')).errors).toContain(
    'with its collections (none), queues and topics',
  )
})

test.each([
  [['create', 'shop/orders', '--partition-key', '/k'], 1, 'ERR_EXISTS: collection "orders"'],
  [
    ['create', 'new/orders'],
    2,
    "ERR_USAGE: required option '--partition-key.*; see tidemark create --help",
  ],
  [['create', 'new/orders', '--partition-key', 'k'], 2, 'ERR_USAGE: .*/property'],
  [['create', 'new/orders', '--partition-key', '/a,/b,/c,/d'], 1, 'ERR_INVALID_PARTITION_KEY: '],
  [['create', 'new/orders', '--partition-key', '/k', '--ttl', '0'], 2, 'ERR_USAGE: .*seconds'],
  [
    ['create', 'new/orders', '--partition-key', '/k', '--partition-count', '10001'],
    1,
    'ERR_INVALID_OPTION: ',
  ],
  [
    ['create', 'new/orders', '--partition-key', '/k', '--unique', '/_ts'],
    1,
    'ERR_INVALID_OPTION: ',
  ],
  [['create', 'new', '--partition-key', '/k'], 2, 'ERR_USAGE: .*database/collection'],
  [['create', 'new/a?b', '--partition-key', '/k'], 1, 'ERR_INVALID_OPTION: '],
  [['drop', 'shop/none', '--yes'], 1, 'ERR_NOT_FOUND: collection "none"'],
  [['drop', 'none', '--yes'], 1, 'ERR_NOT_FOUND: database "none"'],
  [['drop', 'shop/', '--yes'], 2, 'ERR_USAGE: .*database or database/collection'],
  [['ls', 'shop/orders/o1'], 2, 'ERR_USAGE: .*database or database/collection'],
  [['ls', 'none'], 1, 'ERR_NOT_FOUND: database "none"'],
  [['ls', 'shop', '--limit', '5'], 2, 'ERR_USAGE: .*--limit'],
  [['ls', '--partition-key', 'c7'], 2, 'ERR_USAGE: .*--partition-key'],
  [['ls', 'shop/orders', '--limit', '0'], 2, 'ERR_USAGE: .*at least 1'],
  [['ls', 'shop/orders', '--after', 'x'], 1, 'ERR_INVALID_CONTINUATION: '],
])('%j is one line with a code, and changes nothing', async (args, code, told) => {
  await tidemark('init', data)
  await on('create', 'shop/orders', '--partition-key', '/customerId')
  const before = (await on('ls', 'shop', '--json')).output
  const ended = await on(...args)
  expect(ended).toMatchObject({ code, output: '' })
  expect(ended.errors).toMatch(new RegExp(`^tidemark: ${told}[^\\n]*\\n$`))
  expect((await on('ls', 'shop', '--json')).output).toBe(before)
  expect(jsonLines((await on('ls', '--json')).output)).toHaveLength(1)
})

/** 2,500 documents of five partition key values. */
async function fill(): Promise<void> {
  await using store = await openStore({
    folder: data,
    durability: 'relaxed',
    maintenance: 'manual',
  })
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/customerId', partitionCount: 2 })
  const documents = Array.from({ length: 2_500 }, (_, n) => ({ id: `o${n}`, customerId: n % 5 }))
  for await (const outcome of orders.bulk(
    documents.map((document) => ({ kind: 'create', document })),
  )) {
    if (outcome.kind === 'failed') throw outcome.error
  }
}

test('ls lists all documents over several pages, or continues after a limit', async () => {
  await fill()
  const all = jsonLines((await on('ls', 'shop/orders', '--json')).output)
  expect(new Set(all.map(({ id }) => id)).size).toBe(2_500)
  expect(all[0]).toMatchObject({ partitionKey: [expect.any(Number)], _lsn: expect.any(Number) })
  const some = await on('ls', 'shop/orders', '--limit', '1200', '--json')
  expect(some.code).toBe(0)
  const [, continuation = ''] = /continue with --after '(\S+)'\n$/.exec(some.errors) ?? []
  const rest = await on('ls', 'shop/orders', '--after', continuation, '--json')
  expect(rest.errors).toBe('')
  expect([...jsonLines(some.output), ...jsonLines(rest.output)]).toEqual(all)
  const own = await on('ls', 'shop/orders', '--partition-key', '3', '--json')
  expect(jsonLines(own.output)).toHaveLength(500)
  const table = (await on('ls', 'shop/orders')).output.trimEnd().split('\n')
  expect(table).toHaveLength(2_501)
  expect(table[0]).toBe('ID     PARTITION KEY  CHANGED')
  expect(new Set(table.slice(1).map((line) => line.length)).size).toBe(1)
})

test('ls ends when its reader goes away', async () => {
  await fill()
  const output = new PassThrough({ highWaterMark: 1 })
  const errors = new PassThrough()
  output.once('data', () => output.destroy())
  const args = ['ls', 'shop/orders', '--json', '--store', data]
  const context = { input: Readable.from([]), output, errors, interactive: false }
  expect(await runCommand(args, context)).toBe(0)
  expect(errors.read()).toBeNull()
})

test('control characters of ids do not reach the terminal', async () => {
  await tidemark('init', data)
  await on('create', 'shop/orders', '--partition-key', '/k')
  await on('put', 'shop/orders', JSON.stringify({ id: '\u001b[2Ja\nb', k: '\u202e\u0007' }))
  for (const args of [
    ['ls', 'shop/orders'],
    ['ls', 'shop/orders', '--json'],
    ['get', 'shop/orders', '\u001b[2Ja\nb'],
    ['rm', 'shop/orders', '\u001b[2Ja\nb'],
  ]) {
    const { code, output } = await on(...args)
    expect(code).toBe(0)
    expect(output).toContain(String.raw`\u001b[2Ja`)
    // oxlint-disable-next-line no-control-regex -- these are what must not be there
    expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  }
})

test('TIDEMARK_STORE stands for an argument and for --store; what is given wins', async () => {
  vi.stubEnv('TIDEMARK_STORE', data)
  expect(await tidemark('init')).toMatchObject({ code: 0 })
  expect(existsSync(data)).toBe(true)
  expect(await tidemark('ls')).toMatchObject({ code: 0, output: 'no databases\n' })
  expect(await tidemark('store', 'check')).toMatchObject({ code: 0 })
  const backup = join(folder, 'backup')
  expect(await tidemark('store', 'backup', backup)).toMatchObject({ code: 0 })
  expect(await tidemark('store', 'restore', backup)).toMatchObject({ code: 1 })
  expect(await tidemark('store', 'mark-restored')).toMatchObject({ code: 0 })
  const none = join(folder, 'none')
  for (const args of [
    ['ls', '--store', none],
    ['store', 'check', none],
    ['ui', none],
  ]) {
    expect(await tidemark(...args)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(none),
    })
  }
  vi.stubEnv('TIDEMARK_STORE', '')
  for (const args of [
    ['ls'],
    ['init'],
    ['ui'],
    ['serve'],
    ['store', 'check'],
    ['store', 'migrate'],
    ['store', 'mark-restored'],
    ['store', 'backup', backup],
    ['store', 'restore', backup],
  ]) {
    const { code, errors } = await tidemark(...args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(errors).toMatch(/^tidemark: ERR_USAGE: [^\n]*TIDEMARK_STORE[^\n]*\n$/)
    const { output } = await tidemark(...args, '--help')
    expect(output).toMatch(/\(env:\s+TIDEMARK_STORE\)/)
  }
})
