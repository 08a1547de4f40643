import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openView } from '@tidemark/jobs'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let folder: string
let data: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-views-'))
  data = join(folder, 'data')
  await using store = await openStore({ folder: data, maintenance: 'manual' })
  const orders = await store.database('shop').createCollectionIfNotExists<{
    readonly id: string
    readonly customerId: string
    readonly total: number
  }>({ id: 'orders', partitionKey: '/id' })
  for (let n = 0; n < 30; n += 1) {
    await orders.upsert({ id: `o${n}`, customerId: `c${n % 3}`, total: n })
  }
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const SIMPLE = ['--by', '/customerId', '--count', '--sum', '/total', '--max', 'most=/total']

function views(command: string, ...args: readonly string[]) {
  const source = ['--source', 'shop/orders', '--store', data, '--json']
  return tidemark('views', command, 'shop/customers', ...source, ...args)
}

test('a view that does not exist is named', async () => {
  await using store = await openStore({ folder: data, maintenance: 'manual' })
  await store.database('shop').createCollectionIfNotExists({ id: 'leases', partitionKey: '/id' })
  const errors = 'tidemark: ERR_NOT_FOUND: view "customers" does not exist\n'
  expect(await views('status')).toEqual({ code: 1, output: '', errors })
})

test('JB-3 a view is run, looked at, compared, rebuilt with a module and dropped', async () => {
  const run = await views('run', ...SIMPLE, '--once')
  expect(run).toMatchObject({ code: 0 })
  expect(jsonLines(run.output).map(({ event }) => event)).toContain('deletesUnseen')
  expect((await views('verify', ...SIMPLE)).code).toBe(0)
  const status = await views('status')
  expect(jsonLines(status.output)[0]).toMatchObject({
    current: { state: 'caughtUp', keys: 3, documents: 30, lag: 0 },
  })
  const other = await views('verify', '--by', '/customerId', '--count')
  expect(other.code).not.toBe(0)
  expect(jsonLines(other.output)[0]).toMatchObject({ same: false, different: 3 })

  const file = join(folder, 'view.mjs')
  const facade = new URL('../../index.ts', import.meta.url).href
  await writeFile(
    file,
    `import { top } from '${facade}'
     export const by = ({ customerId }) => customerId
     export const fold = { best: top(2, ({ total }) => total, ({ id }) => id) }`,
  )
  const module = ['--module', file, '--view-version', '2', '--ignore-deletes', '--drop-replaced']
  expect(await views('rebuild', ...module)).toMatchObject({ code: 0 })
  {
    await using store = await openStore({ folder: data, maintenance: 'manual' })
    const view = openView(store.database('shop'), 'customers')
    expect(await view.read('c1')).toEqual({ key: 'c1', documents: 10, best: ['o28', 'o25'] })
  }
  const list = await tidemark('views', 'list', 'shop', '--store', data, '--json')
  expect(jsonLines(list.output)).toMatchObject([{ id: 'customers', version: '2', replaced: [] }])
  const drop = await tidemark('views', 'drop', 'shop/customers', '--store', data, '--yes')
  expect(drop.code).toBe(0)
  const ls = await tidemark('views', 'list', 'shop', '--store', data, '--json')
  expect(ls.output).toBe('')
}, 60_000)

test.each([
  [[], 'give either --module, or --by'],
  [['--by', '/a'], '--by needs one of'],
  [['--by', 'a', '--count'], '--by a must be a path'],
  [['--by', '/a', '--sum', 'total'], '--sum total must be a path'],
  [['--module', 'missing.mjs'], 'cannot be loaded'],
])('a view of %j is refused', async (args, message) => {
  const { code, errors } = await views('run', ...args, '--once')
  expect(code).toBe(1)
  expect(errors).toContain('ERR_INPUT')
  expect(errors).toContain(message)
})
