import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore, openView, readJsonLines, type DocumentBody, type Store } from 'tidemark'
import { freePort, startRedisServer } from '@tidemark/testing/servers'
import { startProgram, type StartedProgram } from './start-program.ts'

/* The programs in `examples/` that a newcomer begins with, each run as it is: it does what it promises, through kills and SIGTERM. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FROM_SOURCE = '--conditions=@tidemark/source'
const MAX_LINES = 60

const PROGRAMS = {
  worker: 'examples/worker/src/main.ts',
  overHttp: 'examples/worker/src/over-http.ts',
  migration: 'examples/migration/src/with-deletes.ts',
  archive: 'examples/archive/src/main.ts',
  view: 'examples/materialized-view/src/main.ts',
}

let folder: string
let running: StartedProgram[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-newcomer-'))
  running = []
})
afterEach(async () => {
  for (const program of running) await program.end('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

function start(
  program: keyof typeof PROGRAMS,
  env: Readonly<Record<string, string>> = {},
  ...args: readonly string[]
): StartedProgram {
  const started = startProgram([FROM_SOURCE, join(ROOT, PROGRAMS[program]), ...args], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  })
  running.push(started)
  return started
}

function openData(): Promise<Store> {
  return openStore(join(folder, 'data'))
}

/** A document with whatever properties. */
interface AnyDocument extends DocumentBody {
  readonly [name: string]: unknown
}

async function write(collection: string, ...documents: readonly AnyDocument[]): Promise<void> {
  await using store = await openData()
  const [database = '', id = ''] = collection.split('/')
  for (const document of documents)
    await store.database(database).collection<AnyDocument>(id).upsert(document)
}

function printedIds({ lines }: StartedProgram): readonly unknown[] {
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line): unknown => Reflect.get(Object(JSON.parse(line)), 'id'))
}

test.each(Object.values(PROGRAMS))(`%s has fewer than ${MAX_LINES} lines`, async (path) => {
  const code = await readFile(join(ROOT, path), 'utf8')
  expect(code.trimEnd().split('\n').length).toBeLessThan(MAX_LINES)
})

test('PH-11 a worker with leases on Redis handles what comes, ends with 0 on SIGTERM, and the next one repeats nothing', async () => {
  await using redis = await startRedisServer({ args: ['--appendonly', 'yes'] })
  const env = { REDIS_URL: `redis://${redis.host}:${redis.port}` }
  const first = start('worker', env)
  await first.printed(/^ready$/)
  await write('shop/orders', { id: 'o1', customerId: 'c1' })
  await first.printed(/"id":"o1"/)
  expect(await first.end()).toBe(0)
  await write('shop/orders', { id: 'o2', customerId: 'c1' })
  const second = start('worker', env)
  await second.printed(/"id":"o2"/)
  expect(await second.end()).toBe(0)
  expect([printedIds(first), printedIds(second)]).toEqual([['o1'], ['o2']])
})

test('a worker over HTTP gets the orders of a store that it cannot reach, and ends with 0 on SIGTERM', async () => {
  await createOrders()
  await write('shop/orders', { id: 'o1', customerId: 'c1' })
  const port = await freePort()
  const key = Buffer.alloc(64, 7).toString('base64')
  const env = { TIDEMARK_GATEWAY_KEY: key, TIDEMARK_URL: `http://127.0.0.1:${port}/` }
  const cli = join(ROOT, 'packages/tidemark/src/cli/main.ts')
  const gateway = startProgram([FROM_SOURCE, cli, 'serve', 'data', '--port', `${port}`, '--json'], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  })
  running.push(gateway)
  await gateway.printed(/"ready"/)
  const first = start('overHttp', env)
  await first.printed(/"id":"o1"/)
  expect(await first.end()).toBe(0)
  await write('shop/orders', { id: 'o2', customerId: 'c1' })
  const second = start('overHttp', env)
  await second.printed(/"id":"o2"/)
  expect(await second.end()).toBe(0)
  expect([printedIds(first), printedIds(second)]).toEqual([['o1'], ['o2']])
  expect(await gateway.end()).toBe(0)
})

test('JB-1 a migration follows updates and deletes through a kill, and finds both sides the same', async () => {
  await createOrders()
  const order = (id: string, itemId: string) => ({ id, customerId: 'c1', itemId, total: 1 })
  await write('shop/orders', order('kept', 'pen'), order('moved', 'pen'), order('deleted', 'pen'))
  const first = start('migration')
  await first.printed(/^caughtUp: 0 left, lag 0/)
  await first.end('SIGKILL')
  {
    await using store = await openData()
    await store.database('shop').collection('orders').delete('deleted', 'c1')
  }
  await write('shop/orders', order('moved', 'book'))
  const second = start('migration')
  await second.printed(/^ready$/)
  expect(await second.end()).toBe(0)
  const last = start('migration', {}, '--cut-over')
  await last.printed(/^0 missing, 0 different, 0 extra$/)
  expect(await last.ended).toBe(0)
  await using store = await openData()
  const { documents } = await store.database('shop').collection('ordersByItem').readDocuments()
  const copies = documents.map((copy) => `${copy.id} ${String(Reflect.get(copy, 'itemId'))}`)
  expect(copies.toSorted()).toEqual(['kept pen', 'moved book'])
})

test('a migration tells which orders want one key, and ends on SIGTERM while its cut-over waits', async () => {
  await createOrders()
  const order = (id: string, customerId: string, total: number) => ({
    id,
    customerId,
    itemId: 'pen',
    total,
  })
  await write('shop/orders', order('twice', 'c1', 1), order('twice', 'c2', 2))
  const first = start('migration', {}, '--cut-over')
  await first.printed(/^twice waits: another has its key$/)
  await first.printed(/^1 wait: others have their keys$/)
  expect(await first.ended).toBe(3)
  {
    await using store = await openData()
    const shop = store.database('shop')
    for (const id of ['ordersByItem', 'migration-orders-by-item']) await shop.deleteCollection(id)
    await shop.createCollectionIfNotExists({
      id: 'ordersByItem',
      partitionKey: '/itemId',
      uniqueKeys: [['/total']],
    })
  }
  // Its range stops at the second of these, and nothing is left to wait for but that.
  await write('shop/orders', order('a', 'c3', 3), order('b', 'c4', 3))
  const waiting = start('migration', {}, '--cut-over')
  await waiting.printed(/^batch failed:/)
  expect(await waiting.end()).toBe(1)
  expect(waiting.lines.join('\n')).not.toContain('AbortError')
})

test('TTL-14 sessions expire, and none is purged that is not in the archive, through a kill', async () => {
  const first = start('archive', { SESSION_SECONDS: '1' })
  await first.printed(/^ready$/)
  await write('shop/sessions', { id: 's1', user: 'u1' }, { id: 's2', user: 'u2' })
  await first.end('SIGKILL')
  await write('shop/sessions', { id: 's3', user: 'u1' })
  await write('shop/sessions', { id: 'kept', user: 'u1', ttl: -1 })
  const second = start('archive', { SESSION_SECONDS: '1' })
  await expect.poll(archived).toEqual(['s1', 's2', 's3'])
  expect(await second.end()).toBe(0)
  await using store = await openData()
  const sessions = store.database('shop').collection('sessions')
  const { documents } = await sessions.readDocuments()
  expect(documents.map(({ id }) => id)).toEqual(['kept'])
})

test('JB-3 a view is right after one worker was killed and another took over, and a third goes on after SIGTERM', async () => {
  const first = start('view')
  const second = start('view')
  await first.printed(/^the view is kept$/)
  await second.printed(/^the view is kept$/)
  const city = (index: number, country: string) => ({ id: `c${index}`, country, population: index })
  const cities = Array.from({ length: 100 }, (_, index) => city(index, 'X'))
  await write('world/cities', ...cities.slice(0, 50))
  expect(await first.end('SIGKILL')).toBe('SIGKILL')
  await write('world/cities', ...cities.slice(50), city(7, 'Y'))
  await expect.poll(population, { timeout: 60_000 }).toEqual([99, 4943, 1, 7])
  expect(await second.end()).toBe(0)
  await write('world/cities', city(8, 'Y'))
  const third = start('view')
  await expect.poll(population, { timeout: 60_000 }).toEqual([98, 4935, 2, 15])
  expect(await third.end()).toBe(0)
})

async function population(): Promise<readonly unknown[]> {
  await using store = await openData()
  const view = openView(store.database('world'), 'population')
  const countries = [await view.read('X'), await view.read('Y')]
  return countries.flatMap((country) => [country?.['cities'], country?.['population']])
}

async function createOrders(): Promise<void> {
  await using store = await openData()
  const shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/customerId' })
}

async function archived(): Promise<readonly string[]> {
  const ids: string[] = []
  try {
    for await (const { id } of readJsonLines(join(folder, 'archive'))) ids.push(id)
  } catch (error) {
    // The folder comes with the first of them.
    if (Reflect.get(Object(error), 'code') !== 'ENOENT') throw error
  }
  return ids.toSorted()
}
