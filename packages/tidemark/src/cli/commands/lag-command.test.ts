import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { COMMAND } from '../command-program.child.ts'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let folder: string

interface Order {
  readonly id: string
  readonly n: number
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-lag-'))
  await using store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  const shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 2 })
  await write(20)
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function write(count: number): Promise<void> {
  await using store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  const orders = store.database('shop').collection<Order>('orders')
  for (let n = 0; n < count; n += 1) await orders.upsert({ id: `o${n}`, n })
}

/** A job of the group that does all there is. */
async function runGroup(leasesIn = 'leases'): Promise<void> {
  await using store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  const shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: leasesIn, partitionKey: '/partitionKey' })
  const host = new ChangeFeedProcessorHost({
    hostName: 'job',
    group: 'mirror',
    feed: shop.collection('orders'),
    leases: new DocumentLeaseStore(shop.collection(leasesIn)),
    feedOptions: { startFromBeginning: true },
  })
  await host.runUntilCaughtUp({ processChanges: () => {} })
}

const lag = (...args: readonly string[]) =>
  tidemark('lag', 'shop/orders', '--store', folder, '--group', 'mirror', ...args)

test('PH-9 it sums up, and shows each lease; nothing left is ok', async () => {
  await runGroup()
  const { code, output, errors } = await lag()
  expect([code, errors]).toEqual([0, ''])
  const [line, head, ...rows] = output.trimEnd().split('\n')
  expect(line).toBe('OK: nothing left to do; 0 hosts, 2 unowned')
  expect(head).toMatch(/^FROM +OWNER/)
  expect(rows).toHaveLength(2)
})

test('PH-9 the exit code says how far it is behind', async () => {
  await runGroup()
  await write(15)
  const cases: readonly (readonly [readonly string[], number, string])[] = [
    [[], 1, 'WARNING: 15 changes left in 2 of 2 ranges'],
    [['--warn', '16', '--critical', '20'], 0, 'OK: 15'],
    [['--warn', '15'], 1, 'WARNING: 15'],
    [['--warn', '5', '--critical', '15'], 2, 'CRITICAL: 15'],
    [['--warn-age', '3600', '--critical-age', '7200'], 0, 'OK: 15'],
  ]
  for (const [args, expected, text] of cases) {
    const { code, output } = await lag(...args)
    expect([args, code, output.slice(0, text.length)]).toEqual([args, expected, text])
  }
  const { output } = await lag('--warn', '15', '--critical-age', '7200', '--json')
  expect(jsonLines(output)).toMatchObject([
    {
      status: 'warning',
      group: 'mirror',
      feed: 'shop/orders',
      remainingChanges: 15,
      isExact: true,
      leases: [{ state: 'unowned' }, { state: 'unowned' }],
    },
  ])
})

test('PH-9 ST-9 a range that was split since is no hindrance', async () => {
  await runGroup()
  await write(15)
  const split = await tidemark('ranges', 'split', 'shop/orders', '0', '--store', folder)
  expect(split.code).toBe(0)
  const { code, output } = await lag()
  expect(code).toBe(1)
  expect(output).toMatch(/^WARNING: 15 changes left in 2 of 2 ranges/)
})

test('PH-9 leases elsewhere are found by --leases; what cannot be told is unknown', async () => {
  await runGroup('other')
  const { code, errors, output } = await lag()
  expect([code, output]).toEqual([3, ''])
  expect(errors).toMatch(/^tidemark: ERR_INPUT: group mirror has no leases/)
  expect(await lag('--leases', 'shop/other')).toMatchObject({ code: 0 })
  const wrong: readonly (readonly string[])[] = [
    ['lag', 'shop/orders', '--store', join(folder, 'no'), '--group', 'mirror'],
    ['lag', 'shop/no', '--store', folder, '--group', 'mirror'],
    ['lag', 'shop/orders', '--store', folder, '--group', 'other'],
    ['lag', 'shop/orders', '--store', folder],
    ['lag', 'shop', '--store', folder, '--group', 'mirror'],
    ['lag', 'shop/orders', '--store', folder, '--group', 'mirror', '--warn', '0'],
    [
      'lag',
      'shop/orders',
      '--store',
      folder,
      '--group',
      'mirror',
      '--warn',
      '9',
      '--critical',
      '8',
    ],
    ['lag', 'shop/orders', '--store', folder, '--group', 'mirror', '--critical', '100001'],
  ]
  for (const args of wrong) {
    const ended = await tidemark(...args)
    expect([args, ended.code, ended.output]).toEqual([args, 3, ''])
    expect(ended.errors).toMatch(/^tidemark: ERR_/)
  }
  // Looking at groups makes none.
  const { output: groups } = await tidemark(
    'leases',
    'ls',
    '--store',
    folder,
    '--leases',
    'shop/other',
    '--json',
  )
  expect(new Set(jsonLines(groups).map(({ group }) => group))).toEqual(new Set(['mirror']))
})

test('PH-9 --watch looks again until it is interrupted', async () => {
  await runGroup()
  const args = ['lag', 'shop/orders', '--store', folder, '--group', 'mirror', '--warn', '5']
  const child = spawn(process.execPath, [...COMMAND, ...args, '--watch', '--interval', '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(line)
    if (lines.length === 1) await write(15)
    if (line.includes('WARNING')) child.kill('SIGINT')
  }
  await closed
  expect(child.exitCode).toBe(130)
  expect(lines[0]).toMatch(
    /^\d{4}-\S+Z OK: nothing left to do; 0 hosts, 2 unowned \| changes=0;5;$/,
  )
  expect(lines.at(-1)).toMatch(/Z WARNING: 15 changes left in 2 of 2 ranges/)
})
