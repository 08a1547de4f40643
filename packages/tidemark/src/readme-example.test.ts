import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openStore,
  type Change,
  type CloseReason,
  type IChangeFeedObserver,
  type ObserverContext,
} from './index.ts'

/* The example of the READMEs and the design, as users write it. */

interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
  readonly ttl?: number
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-readme-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('what a user writes first works: a store in a folder, a collection, an observer under a host', async () => {
  await using store = await openStore(folder)
  const orders = await store.database('shop').createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customerId',
    defaultTtl: -1,
    partitionCount: 8,
  })
  await orders.upsert({ id: 'o1', customerId: 'c7', total: 12, ttl: 3600 })

  const calls: string[] = []
  const seen = Promise.withResolvers<void>()
  class Mirror implements IChangeFeedObserver<Order> {
    async open(context: ObserverContext): Promise<void> {
      calls.push(`open ${context.hostName}`)
    }
    async processChanges(
      context: ObserverContext,
      changes: readonly Change<Order>[],
    ): Promise<void> {
      for (const change of changes) {
        if (change.kind === 'pendingDelete') calls.push(`gone ${change.lastVersion.id}`)
        else if (change.kind === 'document') {
          calls.push(`${change.document.id} ${change.document.total}`)
          expect(context.fence.epoch).toBeGreaterThan(0)
        }
      }
      seen.resolve()
    }
    async close(_context: ObserverContext, reason: CloseReason): Promise<void> {
      calls.push(`close ${reason}`)
    }
  }

  const host = new ChangeFeedProcessorHost({
    hostName: 'worker-1',
    group: 'mirror',
    feed: orders,
    leases: new DocumentLeaseStore(store.database('shop').collection('leases')),
    feedOptions: { startFromBeginning: true, maxItemCount: 1000 },
    hostOptions: { leaseExpirationIntervalMs: 10_000 },
  })
  await host.registerObserver(Mirror)
  await seen.promise
  await host.unregisterObservers()
  expect(calls.filter((call) => call === 'open worker-1')).toHaveLength(8)
  expect(calls.filter((call) => call === 'o1 12')).toHaveLength(1)
  expect(calls.filter((call) => call === 'close shutdown')).toHaveLength(8)
})

test('and without a host: an async iterable of pages', async () => {
  await using store = await openStore({ folder, durability: 'relaxed' })
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/customerId' })
  await orders.upsert({ id: 'o1', customerId: 'c7', total: 12 })
  const controller = new AbortController()
  const ids: string[] = []
  for await (const page of orders.changes({ from: 'beginning', signal: controller.signal })) {
    ids.push(...page.changes.map(({ id }) => id))
    expect(page.continuation).toMatch(/^tm1;/)
    break
  }
  expect(ids).toEqual(['o1'])
})

test('what is stored is there again when the folder is opened again', async () => {
  {
    await using store = await openStore(folder)
    const orders = await store
      .database('shop')
      .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/customerId' })
    await orders.upsert({ id: 'o1', customerId: 'c7', total: 12 })
  }
  await using store = await openStore(folder)
  const { document } = await store.database('shop').collection<Order>('orders').read('o1', 'c7')
  expect(document).toMatchObject({ id: 'o1', total: 12 })
})

test('what users copy first has no `await using`, which Node 22 does not know', async () => {
  const root = new URL('../../../', import.meta.url)
  const packages = ['tidemark', 'store', 'engine-sqlite', 'engine-postgres', 'gateway']
  const files = [
    'README.md',
    'docs/guide/postgresql.md',
    ...packages.map((name) => `packages/${name}/README.md`),
    'examples/worker/src/main.ts',
    'examples/materialized-view/src/main.ts',
  ]
  for (const file of files) {
    expect(await readFile(new URL(file, root), 'utf8'), file).not.toMatch(/^\s*await using /m)
  }
})

test('openStore without a folder is refused with a coded error', async () => {
  await expect(openStore('')).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
})
