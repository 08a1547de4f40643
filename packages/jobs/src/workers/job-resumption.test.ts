import type { LeaseStore } from '@tidemark/contracts'
import { openMessaging } from '@tidemark/messaging'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Store } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { archiveExpired } from '../archive/archive-expired.ts'
import { forwardChanges } from '../forwarding/forward-changes.ts'
import { inTime } from '../in-time.fixture.ts'
import { migrateCollection } from '../migration/migrate-collection.ts'
import type { SinkEntry } from '../sync/sink-entry.ts'
import { syncTo } from '../sync/sync-to.ts'
import { count } from '../views/folds/folds.ts'
import { materializeView } from '../views/materialize-view.ts'

interface Order {
  readonly id: string
  readonly ttl?: number
}

/** A worker of a job, and what the job has made so far: ids of the documents that it has seen, or that it keeps. */
interface Worker extends AsyncDisposable {
  start(): Promise<void>
  caughtUp(): Promise<void>
}

interface JobUnderTest {
  readonly worker: (leases: LeaseStore) => Worker
  readonly made: () => Promise<readonly string[]>
}

let clock: SimulatedClock
let store: Store
let orders: Collection<Order>

beforeEach(async () => {
  clock = new SimulatedClock()
  store = await openMemoryStore({ clock, maintenance: 'manual' })
  orders = await store.database('shop').createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    defaultTtl: -1,
    pendingDeletes: { retentionSeconds: 3_600 },
    allVersions: { retentionSeconds: 3_600 },
  })
})
afterEach(() => store.close())

function sync(): JobUnderTest {
  const rows = new Map<string, SinkEntry<Order>>()
  const write = async (batch: readonly SinkEntry<Order>[]): Promise<void> => {
    for (const entry of batch) {
      const known = rows.get(entry.id)
      if (known === undefined || known.lsn < entry.lsn) rows.set(entry.id, entry)
    }
  }
  const sink = { ordersVersions: true, write }
  const deletes = 'apply'
  return {
    worker: (leases) => syncTo<Order>({ feed: orders, leases, clock, group: 'g', sink, deletes }),
    made: async () =>
      [...rows.values()].filter(({ operation }) => operation === 'put').map(({ id }) => id),
  }
}

async function forwarding(): Promise<JobUnderTest> {
  const broker = openMessaging(store.database('shop'), { clock })
  await broker.createQueue('queue', { requiresDuplicateDetection: true })
  const to = broker.createSender('queue')
  return {
    worker: (leases) => forwardChanges<Order>({ feed: orders, leases, clock, to }),
    async made() {
      await using receiver = broker.createReceiver<Order>('queue')
      return (await receiver.peekMessages(1_000)).map(({ body }) => body.id)
    },
  }
}

function migration(): JobUnderTest {
  const database = store.database('shop')
  return {
    worker: (leases) =>
      migrateCollection<Order, Order>({
        job: 'copy',
        source: orders,
        target: { database, id: 'copies', partitionKey: '/id' },
        leases,
        clock,
        mapDocument: (order) => order,
        deletes: 'apply',
      }),
    made: async () =>
      (await database.collection<Order>('copies').readDocuments()).documents.map(({ id }) => id),
  }
}

function view(): JobUnderTest {
  const database = store.database('shop')
  return {
    worker: (leases) =>
      materializeView({
        source: orders,
        target: { database, id: 'by-id' },
        leases,
        clock,
        by: ({ id }) => id,
        fold: count<Order>(),
      }),
    made: async () => {
      const { documents } = await database.collection('view-by-id-1').readDocuments()
      return documents.map((document) => String(Reflect.get(document, 'key')))
    },
  }
}

function archive(): JobUnderTest {
  const archived = new Set<string>()
  return {
    worker: (leases) =>
      archiveExpired<Order>({
        source: orders,
        leases,
        clock,
        group: 'archive',
        sink: { write: async (batch) => batch.forEach(({ id }) => archived.add(id)) },
      }),
    made: async () => [...archived],
  }
}

async function run({ worker }: JobUnderTest, leases: LeaseStore): Promise<void> {
  await using job = worker(leases)
  await inTime(clock, job.start())
  await inTime(clock, job.caughtUp())
  await inTime(clock, Promise.resolve(job[Symbol.asyncDispose]()))
}

async function write(
  ids: readonly string[],
  { ttl }: { readonly ttl?: number | undefined },
): Promise<void> {
  for (const id of ids) await orders.upsert({ id, ...(ttl !== undefined && { ttl }) })
  if (ttl === undefined) return
  await clock.advance((ttl + 1) * 1_000)
  await store.runMaintenance()
}

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

describe('a job whose range was split while no worker ran', () => {
  test.each([
    { job: 'sync', subject: sync, ttl: undefined },
    { job: 'forwarding', subject: forwarding, ttl: undefined },
    { job: 'migration', subject: migration, ttl: undefined },
    { job: 'view', subject: view, ttl: undefined },
    { job: 'archive', subject: archive, ttl: 1 },
  ])('goes on: $job', async ({ subject, ttl }) => {
    const job = await subject()
    const leases = new MemoryLeaseStore({ clock })
    await write(IDS, { ttl })
    await run(job, leases)
    const [range] = await orders.readFeedRanges()
    await orders.split(range!.id!)
    await write(['i'], { ttl })
    await run(job, leases)
    expect((await job.made()).toSorted()).toEqual([...IDS, 'i'])
  })
})

describe('a job whose leases ended with its process', () => {
  test.each([
    { job: 'sync', subject: sync },
    { job: 'migration', subject: migration },
    { job: 'view', subject: view },
  ])('sees what was deleted meanwhile: $job', async ({ subject }) => {
    const job = subject()
    await write(IDS, {})
    await run(job, new MemoryLeaseStore({ clock }))
    await orders.delete('a', 'a')
    await run(job, new MemoryLeaseStore({ clock }))
    expect((await job.made()).toSorted()).toEqual(IDS.slice(1))
  })
})
