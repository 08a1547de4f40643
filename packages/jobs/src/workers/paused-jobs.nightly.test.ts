import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inTime } from '../in-time.fixture.ts'
import { migrateCollection } from '../migration/migrate-collection.ts'
import type { SinkEntry } from '../sync/sink-entry.ts'
import { syncTo } from '../sync/sync-to.ts'
import { count, sum } from '../views/folds/folds.ts'
import { materializeView } from '../views/materialize-view.ts'

/*
 * Jobs whose workers come and go, while documents are written, deleted and expire, ranges split and merge, leases get lost,
 * and what nobody has read is purged. In the end each has what the source has.
 */

interface Order {
  readonly id: string
  readonly shop: string
  readonly group: number
  readonly total: number
  readonly ttl?: number
}

type Step =
  | {
      readonly act: 'put'
      readonly id: number
      readonly group: number
      readonly total: number
      readonly expires: boolean
    }
  | { readonly act: 'delete'; readonly id: number }
  | { readonly act: 'split' | 'merge'; readonly at: number }
  | { readonly act: 'wait'; readonly seconds: number }
  | { readonly act: 'run'; readonly leases: 'kept' | 'lost' }

const IDS = 8
const TTL_SECONDS = 5

function programs(longestWaitSeconds: number): fc.Arbitrary<readonly Step[]> {
  const put = fc.record({
    act: fc.constant('put' as const),
    id: fc.nat(IDS - 1),
    group: fc.nat(2),
    total: fc.nat(9),
    expires: fc.boolean(),
  })
  const remove = fc.record({ act: fc.constant('delete' as const), id: fc.nat(IDS - 1) })
  const split = fc.record({
    act: fc.constantFrom('split' as const, 'merge' as const),
    at: fc.nat(9),
  })
  const wait = fc.record({
    act: fc.constant('wait' as const),
    seconds: fc.integer({ min: 1, max: longestWaitSeconds }),
  })
  const run = fc.record({
    act: fc.constant('run' as const),
    leases: fc.constantFrom('kept' as const, 'lost' as const),
  })
  return fc.array(
    fc.oneof(
      { weight: 8, arbitrary: put },
      { weight: 3, arbitrary: remove },
      { weight: 2, arbitrary: split },
      { weight: 2, arbitrary: wait },
      { weight: 3, arbitrary: run },
    ),
    { minLength: 5, maxLength: 40, size: 'max' },
  )
}

interface Job {
  start(): Promise<void>
  caughtUp(): Promise<void>
  stop(): Promise<void>
}

class Stage implements AsyncDisposable {
  readonly #clock = new SimulatedClock()
  readonly #store = openMemoryStore({ clock: this.#clock, maintenance: 'manual' })
  #database: Database | undefined
  #orders: Collection<Order> | undefined
  #keepsAll = false
  #leases = new MemoryLeaseStore({ clock: this.#clock })
  readonly #rows = new Map<string, SinkEntry<Order>>()

  async open({ keepsAll }: { readonly keepsAll: boolean }): Promise<void> {
    const retentionSeconds = keepsAll ? 86_400 : 10
    this.#keepsAll = keepsAll
    this.#database = (await this.#store).database('db')
    this.#orders = await this.#database.createCollectionIfNotExists<Order>({
      id: 'orders',
      partitionKey: '/shop',
      partitionCount: 2,
      defaultTtl: -1,
      pendingDeletes: { retentionSeconds },
      allVersions: { retentionSeconds },
    })
  }

  async do(step: Step): Promise<void> {
    const orders = this.#orders!
    switch (step.act) {
      case 'put': {
        const { id, group, total, expires } = step
        const ttl = expires ? { ttl: TTL_SECONDS } : {}
        await orders.upsert({ id: `o${id}`, shop: `s${id % 3}`, group, total, ...ttl })
        break
      }
      case 'delete':
        await orders.delete(`o${step.id}`, `s${step.id % 3}`).catch(() => {})
        break
      case 'split':
      case 'merge': {
        const ranges = await orders.readFeedRanges()
        const at = step.at % ranges.length
        const [one, next] = [ranges[at], ranges[at + 1]]
        // One partition key value cannot be split.
        if (step.act === 'split' && ranges.length < 5) await orders.split(one!.id!).catch(() => {})
        if (step.act === 'merge' && next !== undefined) await orders.merge(one!.id!, next.id!)
        break
      }
      case 'wait':
        await this.#clock.advance(step.seconds * 1_000)
        await (await this.#store).runMaintenance()
        break
      case 'run':
        if (step.leases === 'lost') this.#leases = new MemoryLeaseStore({ clock: this.#clock })
        await this.#run()
    }
  }

  async #run(): Promise<void> {
    const common = {
      leases: this.#leases,
      clock: this.#clock,
      deletes: 'apply',
      logger: false,
    } as const
    const [database, source] = [this.#database!, this.#orders!]
    const write = async (batch: readonly SinkEntry<Order>[]): Promise<void> => {
      for (const entry of batch) {
        const known = this.#rows.get(entry.id)
        if (known === undefined || known.lsn < entry.lsn) this.#rows.set(entry.id, entry)
      }
    }
    const sink = { ordersVersions: true, write }
    const jobs: readonly Job[] = [
      // It remembers nothing, and stands still where it has missed something.
      ...(this.#keepsAll ? [syncTo<Order>({ ...common, feed: source, group: 'sync', sink })] : []),
      migrateCollection<Order, Order>({
        ...common,
        job: 'copy',
        source,
        target: { database, id: 'copies', partitionKey: '/group' },
        mapDocument: (order) => order,
      }),
      materializeView({
        ...common,
        source,
        target: { database, id: 'groups' },
        by: ({ group }) => group,
        fold: { orders: count<Order>(), total: sum(({ total }: Order) => total) },
      }),
    ]
    for (const job of jobs) await inTime(this.#clock, job.start())
    for (const job of jobs) await inTime(this.#clock, job.caughtUp())
    for (const job of jobs) await inTime(this.#clock, job.stop())
  }

  async outcome() {
    const rows = [...this.#rows.values()].flatMap(({ operation, document }) =>
      operation === 'put' ? (document ?? []) : [],
    )
    const { documents } = await this.#orders!.readDocuments()
    const { documents: copies } = await this.#database!.collection<Order>('copies').readDocuments()
    const groups = this.#database!.collection<GroupDocument>('view-groups-1')
    const view = (await groups.readDocuments()).documents.map(({ key, orders, total }) => {
      return { group: key, orders, total }
    })
    const recount = [...Map.groupBy(documents, ({ group }) => group)].map(([group, all]) => {
      return { group, orders: all.length, total: all.reduce((so, { total }) => so + total, 0) }
    })
    const byGroup = (a: { group: number }, b: { group: number }): number => a.group - b.group
    return {
      source: plain(documents),
      rows: plain(rows),
      copies: plain(copies),
      view: view.toSorted(byGroup),
      recount: recount.toSorted(byGroup),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#store).close()
  }
}

interface GroupDocument {
  readonly id: string
  readonly key: number
  readonly orders: number
  readonly total: number
}

function plain(orders: readonly Order[]): readonly Order[] {
  return orders
    .map(({ id, shop, group, total }) => ({ id, shop, group, total }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

async function played(program: readonly Step[], kept: { readonly keepsAll: boolean }) {
  await using on = new Stage()
  await on.open(kept)
  for (const step of program) await on.do(step)
  // What expires meanwhile is gone on both sides, or on neither.
  await on.do({ act: 'wait', seconds: TTL_SECONDS + 1 })
  await on.do({ act: 'run', leases: 'kept' })
  return await on.outcome()
}

test('jobs that are paused end with what the source has, through splits, merges, expiry and lost leases', async () => {
  await fc.assert(
    fc.asyncProperty(programs(8), async (program) => {
      const { source, rows, copies, view, recount } = await played(program, { keepsAll: true })
      expect(rows).toEqual(source)
      expect(copies).toEqual(source)
      expect(view).toEqual(recount)
    }),
    { numRuns: 60 },
  )
})

test('those that remember what they made do, also when what they had not read was purged', async () => {
  await fc.assert(
    fc.asyncProperty(programs(40), async (program) => {
      const { source, copies, view, recount } = await played(program, { keepsAll: false })
      expect(copies).toEqual(source)
      expect(view).toEqual(recount)
    }),
    { numRuns: 60 },
  )
})
