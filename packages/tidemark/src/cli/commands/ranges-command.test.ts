import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-ranges-'))
  await using store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 2 })
  for (let n = 0; n < 100; n += 1) await orders.upsert({ id: `o${n}` })
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const ranges = (...args: readonly string[]) => tidemark('ranges', ...args, '--store', folder)

test('ST-9 ls shows ids, keys, sizes and LSNs; split and merge print what came in the place', async () => {
  const before = jsonLines((await ranges('ls', 'shop/orders', '--json')).output)
  expect(before.map(({ id }) => id)).toEqual(['0', '1'])
  expect(before.reduce((sum, { documents }) => sum + Number(documents), 0)).toBe(100)
  for (const { bytes, newestLsn, parents } of before) {
    expect(bytes).toBeGreaterThan(0)
    expect(newestLsn).toBeGreaterThan(0)
    expect(parents).toEqual([])
  }
  const split = await ranges('split', 'shop/orders', '0', '--json')
  expect(split).toMatchObject({ code: 0, errors: '' })
  const children = jsonLines(split.output)
  expect(children).toMatchObject([
    { id: '2', minInclusive: '', parents: ['0'] },
    { id: '3', maxExclusive: before[0]?.['maxExclusive'], parents: ['0'] },
  ])
  const documents = children.map((child) => Number(child['documents']))
  expect(Math.abs((documents[0] ?? 0) - (documents[1] ?? 0))).toBeLessThanOrEqual(1)

  const merged = await ranges('merge', 'shop/orders', '3', '1', '--json')
  expect(jsonLines(merged.output)).toMatchObject([{ id: '4', maxExclusive: 'FF' }])
  const table = await ranges('ls', 'shop/orders')
  expect(table.output).toMatch(
    /^ID +FROM +TO +PARENTS +DOCUMENTS +BYTES +NEWEST LSN\n *2 +0 .*\n *4 .*FF .*\n$/,
  )
  // The whole key, as --at takes it.
  expect(table.output).toContain(` ${String(children[0]?.['maxExclusive'])} `)
})

test('ST-9 split --at takes a key of either case', async () => {
  const { output, code } = await ranges('split', 'shop/orders', '0', '--at', '0a', '--json')
  expect(code).toBe(0)
  expect(jsonLines(output)).toMatchObject([{ maxExclusive: '0A' }, { minInclusive: '0A' }])
})

test('a range that is gone names its successors; other mistakes have their codes, and change nothing', async () => {
  await ranges('split', 'shop/orders', '0')
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [['split', 'shop/orders', '0'], 'ERR_RANGE_GONE'],
    [['split', 'shop/orders', '99'], 'ERR_NOT_FOUND'],
    [['split', 'shop/orders', '1', '--at', 'xyz'], 'ERR_INVALID_OPTION'],
    [['merge', 'shop/orders', '1', '2'], 'ERR_INVALID_OPTION'],
    [['ls', 'shop/nothing'], 'ERR_NOT_FOUND'],
  ]
  const before = await ranges('ls', 'shop/orders')
  for (const [args, code] of wrong) {
    const ended = await ranges(...args)
    expect({ args, ...ended }).toMatchObject({ code: 1, output: '' })
    expect(ended.errors).toMatch(new RegExp(`^tidemark: ${code}: [^\\n]+\\n$`))
  }
  for (const args of [['merge', 'shop/orders', '1'], ['split', 'orders', '0'], []]) {
    const ended = await tidemark('ranges', ...args, '--store', folder)
    expect({ args, ...ended }).toMatchObject({ code: 2, output: '' })
  }
  expect(await ranges('ls', 'shop/orders')).toEqual(before)
})

test('--help of each has examples', async () => {
  for (const command of ['ls', 'split', 'merge']) {
    const { code, output } = await tidemark('ranges', command, '--help')
    expect(code).toBe(0)
    expect(output).toContain('Examples:')
  }
})
