import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '@tidemark/contracts'
import { count, openView, sum, verifyView } from '@tidemark/jobs'
import { COMMAND } from '../command-program.child.ts'
import { openStore } from '../../open-store.ts'
import { tidemark } from './command-runner.child.ts'

interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

let folder: string
const running = new Set<ChildProcess>()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-views-kill-'))
})
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

const VIEW = ['shop/customers', '--source', 'shop/orders', '--by', '/customerId']
const FOLDS = ['--count', '--sum', '/total', '--json']

/** Kills a worker once it has applied some batches. */
async function killedWorker(name: string, batches: number): Promise<void> {
  const args = ['--store', folder, '--host-name', name]
  const child = spawn(process.execPath, [...COMMAND, 'views', 'run', ...VIEW, ...FOLDS, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  let applied = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"event":"applied"') && ++applied >= batches) break
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  running.delete(child)
}

test('JB-3 workers that are killed in turn while documents come, move and go leave a view that is right', async () => {
  await using store = await openStore({ folder, durability: 'relaxed' })
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: 2,
    allVersions: { retentionSeconds: 3_600 },
  })
  const end = new AbortController()
  const writing = (async () => {
    for (let n = 0; !end.signal.aborted; n += 1) {
      const order = { id: `o${n % 150}`, customerId: `c${(n * 7) % 11}`, total: n / 10 }
      if (n % 5 === 4) await orders.bulk([{ kind: 'delete', ...keyOf(`o${(n * 3) % 150}`) }]).next()
      else await orders.upsert(order)
      // A pace that one worker keeps up with.
      await systemClock.sleep(5, NEVER)
    }
  })()
  await killedWorker('one', 1)
  await killedWorker('two', 3)
  await killedWorker('three', 2)
  end.abort()
  await writing
  const ended = await tidemark('views', 'run', ...VIEW, ...FOLDS, '--store', folder, '--once')
  expect(ended.code).toBe(0)
  const report = await verifyView({
    source: orders,
    database: shop,
    id: 'customers',
    by: ({ customerId }) => customerId,
    fold: { count: count<Order>(), total: sum(({ total }: Order) => total) },
    pauseMs: 10,
  })
  expect(report).toMatchObject({ same: true, unsettled: 0 })
  expect(report.documents).toBeGreaterThan(50)
  expect(await openView(shop, 'customers').count()).toBe(11)
}, 120_000)

const NEVER = new AbortController().signal

function keyOf(id: string): { readonly id: string; readonly partitionKey: string } {
  return { id, partitionKey: id }
}
