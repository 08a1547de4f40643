import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

interface Order {
  readonly id: string
  readonly item: string
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-versions-'))
  await using store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/id' })
  for (const id of ['1', '2', '3']) await orders.upsert({ id, item: 'i' })
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const MIGRATE = ['--source', 'shop/orders', '--target', 'shop/byItem', '--cut-over']
const migrate = (...args: readonly string[]) =>
  tidemark('migrate', ...MIGRATE, '--target-partition-key', '/item', '--store', folder, ...args)
const versions = (...args: readonly string[]) => tidemark('versions', ...args, '--store', folder)

test('JB-1 the command turns on the log that a migration needs to see deletes, which warns until then', async () => {
  expect(await versions('shop/orders')).toMatchObject({ output: 'log of all versions: off\n' })
  const refused = await migrate('--apply-deletes', '--target', 'shop/refused')
  expect(refused.errors).toContain('ERR_ALL_VERSIONS_OFF')
  const warned = await migrate('--target', 'shop/warned')
  expect(warned.errors).toContain('deletes in shop/orders are not copied to the target')
  expect(warned.errors).toContain('tidemark versions set shop/orders')

  const turnedOn = await versions('set', 'shop/orders', '604800', '--json')
  expect(jsonLines(turnedOn.output)).toEqual([
    { allVersions: { retentionSeconds: 604_800, previousImages: false } },
  ])
  const first = await migrate('--apply-deletes')
  expect(first).toMatchObject({
    code: 0,
    errors: expect.not.stringContaining('are not copied to the target'),
  })
  {
    await using store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
    await store.database('shop').collection('orders').delete('2', '2')
  }
  const second = await migrate('--apply-deletes', '--verify')
  expect(second.code).toBe(0)
  expect(second.errors).toContain('verified 2 documents')

  const off = await versions('set', 'shop/orders', 'off')
  expect(off.output).toBe('log of all versions: off\n')
})

test('a retention that is none is refused', async () => {
  for (const wrong of ['0', 'week', '-1']) {
    expect((await versions('set', 'shop/orders', '--', wrong)).code).toBe(2)
  }
})
