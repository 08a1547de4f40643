import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  ProcessorGroup,
  openStore,
  textLogger,
  type Change,
  type Collection,
  type IChangeFeedObserver,
  type ObserverContext,
  type Store,
} from './index.ts'

/* The snippets of docs/guide/monitoring.md, word for word; the last test finds each of them here. */

interface Order {
  readonly id: string
  readonly customerId: string
}

const seen: string[] = []

class Mirror implements IChangeFeedObserver<Order> {
  processChanges(_context: ObserverContext, changes: readonly Change<Order>[]): void {
    seen.push(...changes.map(({ id }) => id))
  }
}

let store: Store
let orders: Collection<Order>
let leases: DocumentLeaseStore
const reports: object[] = []
const report = (what: object): void => {
  reports.push(what)
}

beforeEach(async () => {
  seen.length = 0
  reports.length = 0
  store = await openStore({ folder: ':memory:', maintenance: 'manual' })
  const shop = store.database('shop')
  orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customerId',
    partitionCount: 2,
  })
  leases = new DocumentLeaseStore(
    await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' }),
  )
})
afterEach(async () => {
  await store.close()
})

async function write(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await orders.upsert({ id: `o${n}`, customerId: `c${n}` })
}

test('PH-9 monitoring.md: a job that does all there is, and how far a group is behind', async () => {
  await write(30)
  const job = new ChangeFeedProcessorHost<Order>({
    group: 'mirror',
    feed: orders,
    leases,
    feedOptions: { startFromBeginning: true },
  })
  const { changes, batches, deadLetters } = await job.runUntilCaughtUp(Mirror, {
    timeoutMs: 600_000,
  })
  report({ changes, batches, deadLetters })
  expect(reports.splice(0)).toEqual([{ changes: 30, batches: 2, deadLetters: 0 }])
  expect(new Set(seen).size).toBe(30)

  // Deletes leave nothing to read, and raise the newest LSN.
  await write(12)
  await orders.delete('o3', 'c3')
  const estimator = new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' })
  const { remainingChanges, isExact, oldestChangeAgeMs, caughtUp } = await estimator.estimate()
  for (const { leaseId, owner, state, lsnDistance, attempts, problem } of (
    await estimator.estimate()
  ).leases) {
    report({ leaseId, owner, state, lsnDistance, attempts, problem })
  }
  expect({ remainingChanges, isExact, caughtUp }).toEqual({
    remainingChanges: 11,
    isExact: true,
    caughtUp: false,
  })
  expect(oldestChangeAgeMs).toBeLessThan(60_000)
  expect(reports).toMatchObject([{ state: 'unowned' }, { state: 'unowned' }])
  await estimator[Symbol.asyncDispose]()
})

test('PH-10 monitoring.md: what hosts of other processes do', async () => {
  await write(10)
  const host = new ChangeFeedProcessorHost<Order>({
    hostName: 'worker-1',
    group: 'mirror',
    feed: orders,
    leases,
    feedOptions: { startFromBeginning: true },
  })
  await host.runUntilCaughtUp(Mirror, { timeoutMs: 60_000 })
  const group = new ProcessorGroup({ leases, group: 'mirror' })
  for (const { host, leases: count, summary } of (await group.status()).hosts) {
    report({ host, count, rate: summary?.changesPerS, p99: summary?.batchMs?.p99 })
    report({ errors: summary?.errors, last: summary?.lastError?.message, halted: summary?.halted })
  }
  for (const { atMs, host, leaseId, kind, reason } of await group.transitions()) {
    report({ atMs, host, leaseId, kind, reason })
  }
  await group.close()
  expect(reports).toHaveLength(4)
  expect(reports).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ host: 'worker-1', kind: 'acquired' }),
      expect.objectContaining({ host: 'worker-1', kind: 'released', reason: 'shutdown' }),
    ]),
  )
})

test('PH-9 monitoring.md: the health of a host, and waiting for others', async () => {
  await write(10)
  await using host = new ChangeFeedProcessorHost<Order>({
    hostName: 'worker-1',
    group: 'mirror',
    feed: orders,
    leases,
    feedOptions: { startFromBeginning: true },
  })
  await host.registerObserver(Mirror)
  await using estimator = new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' })
  await estimator.untilCaughtUp({ timeoutMs: 60_000 }) // everything that was there at the call is processed
  expect(new Set(seen).size).toBe(10)
  expect(await estimator.estimate()).toMatchObject({ hosts: ['worker-1'], caughtUp: true })
  for (const lease of host.health().leases) {
    const { leaseId, changes, batches, caughtUp, noProgressForMs, lastProgressMs, lastError } =
      lease
    if (noProgressForMs > 60_000) report({ leaseId, changes, batches, lastProgressMs, lastError })
    if (caughtUp) report({ leaseId, caughtUp })
  }
  expect(host.health().leases).toHaveLength(2)
})

test('PH-10 monitoring.md: loggers', () => {
  const logged = new ChangeFeedProcessorHost<Order>({
    group: 'mirror',
    feed: orders,
    leases,
    logger: pino(), // or console; false turns the log off
  })
  expect(logged.group).toBe('mirror')
  const logger = textLogger((line, level) => report({ level, line }), 'info')
  logger.debug({}, 'details')
  logger.warn({ group: 'mirror', range: '-FF' }, 'lost lease -FF')
  expect(reports).toEqual([{ level: 'warn', line: 'tidemark: group mirror: lost lease -FF' }])
})

test('every snippet of monitoring.md is in this file', async () => {
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
  const guide = new URL('../../../docs/guide/monitoring.md', import.meta.url)
  const text = await readFile(guide, 'utf8')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, snippet = '']) => snippet)
  expect(snippets).toHaveLength(7)
  for (const snippet of snippets) expect(here).toContain(squeezed(snippet))
})

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
