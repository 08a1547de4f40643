import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inTime } from '../in-time.fixture.ts'
import { migrateCollection } from '../migration/migrate-collection.ts'
import { watchMigration } from '../migration/watch-migration.ts'
import { count } from '../views/folds/folds.ts'
import { materializeView } from '../views/materialize-view.ts'

interface Order {
  readonly id: string
  readonly shop: string
  readonly ttl?: number
}

type Deletes = 'apply' | 'ignore' | undefined

interface Worker {
  start(): Promise<void>
  caughtUp(): Promise<void>
  stop(): Promise<void>
}

interface JobUnderTest {
  readonly worker: (leases: MemoryLeaseStore, deletes: Deletes) => Worker
  /** Ids of the documents that it has made something of. */
  readonly made: () => Promise<readonly string[]>
}

let clock: SimulatedClock
let store: Store
let database: Database

beforeEach(async () => {
  clock = new SimulatedClock()
  store = await openMemoryStore({ clock, maintenance: 'manual' })
  database = store.database('db')
})
afterEach(() => store.close())

const RETENTION = { retentionSeconds: 60 }

function openOrders({ isLogKept }: { readonly isLogKept: boolean }): Promise<Collection<Order>> {
  return database.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/shop',
    partitionCount: 2,
    ...(isLogKept ? { allVersions: RETENTION } : { defaultTtl: -1, pendingDeletes: RETENTION }),
  })
}

function migration(source: Collection<Order>): JobUnderTest {
  return {
    worker: (leases, deletes) =>
      migrateCollection<Order, Order>({
        job: 'copy',
        source,
        target: { database, id: 'copies', partitionKey: '/id' },
        leases,
        clock,
        deletes,
        mapDocument: (order) => order,
        logger: false,
      }),
    made: async () => {
      const { documents } = await database.collection<Order>('copies').readDocuments()
      return documents.map(({ id }) => id).toSorted()
    },
  }
}

function view(source: Collection<Order>): JobUnderTest {
  return {
    worker: (leases, deletes) =>
      materializeView({
        source,
        target: { database, id: 'by-id' },
        leases,
        clock,
        deletes,
        by: ({ id }) => id,
        fold: count<Order>(),
        logger: false,
      }),
    made: async () => {
      const { documents } = await database.collection('view-by-id-1').readDocuments()
      return documents.map((document) => String(Reflect.get(document, 'key'))).toSorted()
    },
  }
}

async function run(worker: Worker): Promise<void> {
  await inTime(clock, worker.start())
  await inTime(clock, worker.caughtUp())
  await inTime(clock, worker.stop())
}

/** Documents are read from it once `before` lets them. */
function readingBy(orders: Collection<Order>, before: () => Promise<void>): Collection<Order> {
  return new Proxy(orders, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args)
      return name === 'read' ? (...args: unknown[]) => before().then(() => call(...args)) : call
    },
  })
}

/** Long enough for what has expired, was deleted or logged to be purged. */
async function untilPurged(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await clock.advance(62_000)
    await store.runMaintenance()
  }
}

/** Its partition key value and id take more characters than an id of the state has. */
const LONG = 'x'.repeat(150)

async function write(orders: Collection<Order>, ids: readonly string[]): Promise<void> {
  for (const id of ids) await orders.upsert({ id, shop: `shop ${id}` })
}

describe.each([
  { job: 'migration', subject: migration },
  { job: 'view', subject: view },
])('what was purged before it was read: $job', ({ subject }) => {
  test.each([
    { leases: 'kept', isLogKept: false, deletes: undefined },
    { leases: 'kept', isLogKept: true, deletes: 'apply' },
    { leases: 'lost', isLogKept: false, deletes: undefined },
    { leases: 'lost', isLogKept: true, deletes: 'apply' },
  ] as const)('is removed: leases $leases, log kept: $isLogKept', async (given) => {
    const orders = await openOrders(given)
    const job = subject(orders)
    const leases = new MemoryLeaseStore({ clock })
    await write(orders, ['a', 'b', 'c', LONG])
    await run(job.worker(leases, given.deletes))
    expect(await job.made()).toEqual(['a', 'b', 'c', LONG])
    for (const id of ['a', 'b', LONG]) {
      const shop = `shop ${id}`
      if (given.isLogKept) await orders.delete(id, shop)
      else await orders.upsert({ id, shop, ttl: 1 })
    }
    await untilPurged()
    await write(orders, ['b'])
    const next = given.leases === 'kept' ? leases : new MemoryLeaseStore({ clock })
    await run(job.worker(next, given.deletes))
    expect(await job.made()).toEqual(['b', 'c'])
    await write(orders, ['a'])
    await run(job.worker(next, given.deletes))
    expect(await job.made()).toEqual(['a', 'b', 'c'])
  })

  test("stays with deletes: 'ignore'", async () => {
    const orders = await openOrders({ isLogKept: true })
    const job = subject(orders)
    await write(orders, ['a', 'b'])
    await run(job.worker(new MemoryLeaseStore({ clock }), 'ignore'))
    await orders.delete('a', 'shop a')
    await run(job.worker(new MemoryLeaseStore({ clock }), 'ignore'))
    expect(await job.made()).toEqual(['a', 'b'])
  })

  test('is removed by the next worker, where the first one that applies deletes ended before it had', async () => {
    const orders = await openOrders({ isLogKept: true })
    const leases = new MemoryLeaseStore({ clock })
    await write(orders, ['a', 'b'])
    await run(subject(orders).worker(leases, 'ignore'))
    await orders.delete('a', 'shop a')
    await untilPurged()
    const ends = readingBy(orders, () => Promise.reject(new Error('the worker ends')))
    const ended = subject(ends).worker(leases, 'apply')
    await expect(inTime(clock, ended.start())).rejects.toThrow('the worker ends')
    const job = subject(orders)
    await run(job.worker(leases, 'apply'))
    expect(await job.made()).toEqual(['b'])
  })
})

test('JB-1 who watches a migration waits for what was purged before it was read', async () => {
  const orders = await openOrders({ isLogKept: true })
  const leases = new MemoryLeaseStore({ clock })
  await write(orders, ['a', 'b'])
  const job = migration(orders)
  await run(job.worker(leases, 'ignore'))
  await orders.delete('a', 'shop a')
  await untilPurged()
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>()
  const worker = migration(readingBy(orders, () => isAnswered)).worker(leases, 'apply')
  const started = worker.start()
  const watched = { source: orders, targetDatabase: database, leases, clock }
  await using watch = await watchMigration({ ...watched, job: 'copy', deletes: 'apply' })
  const seen: (readonly string[])[] = []
  const waits = [watch.caughtUp(), watch.cutOver()].map(async (wait) => {
    await wait
    seen.push(await job.made())
  })
  await clock.advance(10_000)
  expect(await watch.progress()).toMatchObject({ state: 'starting' })
  answer()
  await inTime(clock, Promise.all([started, ...waits]))
  expect(seen).toEqual([['b'], ['b']])
  await inTime(clock, worker.stop())
})
