import type { Change } from '@tidemark/contracts'
import { count, materializeView } from '@tidemark/jobs'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import type { AtomicWrite, Collection } from '@tidemark/store'
import { orderDocument, type OrderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { DATABASE, openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const PAGE = 1_000

/**
 * A view that counts orders per customer and country: built from the beginning, and when each order has moved to another key.
 * Beside it the same loop by hand: it remembers the key of each order, too, but has no fences, conditions, retries or
 * counters, so that late workers and ranges side by side would spoil it.
 */
export const viewCounts: Scenario = {
  name: 'view-counts',
  measures: [
    {
      name: 'view.counts',
      unit: 'changes/s',
      rawIs: 'the same loop by hand without fences',
      goal: { of: 'value', is: 'atLeast', limit: 20_000 },
    },
    {
      name: 'view.moves',
      unit: 'changes/s',
      rawIs: 'the same loop by hand without fences',
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder)
    const database = store.database(DATABASE)
    const leases = new DocumentLeaseStore(
      await database.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' }),
    )
    const orders = await ordersIn(store, { id: 'orders' })
    const load = (revision: number): Promise<void> =>
      loadBatches(orders, batchesOf(documents), (index) => orderDocument(index, revision))
    let revision = 0
    let runs = 0
    await load(revision)

    /** Both keep the same from then on; `drain` works on it until all documents have come once more. */
    const measured = async (
      drain: () => Promise<number>,
    ): Promise<{ readonly 'view.counts': number; readonly 'view.moves': number }> => {
      const built = await drain()
      await load(++revision)
      return { 'view.counts': built, 'view.moves': await drain() }
    }
    return {
      ours() {
        const id = `ours-${++runs}`
        return measured(async () => {
          const rate = new DrainRate(documents)
          await using view = materializeView<OrderDocument, ReturnType<typeof count>>({
            source: orders,
            target: { database, id },
            leases,
            by: keyOf,
            fold: count(),
            deletes: 'ignore',
            onEvent: (event) => {
              if (event.kind === 'applied') rate.add(event.changes)
            },
          })
          await view.start()
          return await rate.done
        })
      },
      async raw() {
        const id = `by-hand-${++runs}`
        const counts = await database.createCollectionIfNotExists<CountedKey>({
          id,
          partitionKey: '/id',
        })
        const contributions = await database.createCollectionIfNotExists<Contribution>({
          id: `${id}-contributions`,
          partitionKey: '/customerId',
        })
        return measured(async () => {
          const rate = new DrainRate(documents)
          const host = new ChangeFeedProcessorHost<OrderDocument>({
            group: id,
            feed: orders,
            leases,
            feedOptions: { startFromBeginning: true, maxItemCount: PAGE },
          })
          await host.registerObserver(async (_, changes) => {
            const writes = await countByHand(changes, { counts, contributions })
            await database.commitAtomically(writes)
            rate.add(changes.length)
          })
          const perSecond = await rate.done
          await host.unregisterObservers()
          return perSecond
        })
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}

interface CountedKey {
  readonly id: string
  readonly count: number
}
interface Contribution {
  readonly id: string
  readonly customerId: string
  readonly key: string
}

/** Another one in each revision. */
function keyOf({ customerId, revision }: OrderDocument): string {
  return `${customerId} ${revision % 2}`
}

async function countByHand(
  changes: readonly Change<OrderDocument>[],
  {
    counts,
    contributions,
  }: { readonly counts: Collection<CountedKey>; readonly contributions: Collection<Contribution> },
): Promise<readonly AtomicWrite[]> {
  const writes: AtomicWrite[] = []
  const added = new Map<string, number>()
  const add = (key: string, by: number): void => {
    added.set(key, (added.get(key) ?? 0) + by)
  }
  await Promise.all(
    changes.map(async (change) => {
      if (change.kind !== 'document') return
      const { id, customerId } = change.document
      const key = keyOf(change.document)
      const { document: before } = await contributions.read(id, customerId)
      if (before?.key === key) return
      if (before !== undefined) add(before.key, -1)
      add(key, 1)
      const document: Contribution = { id, customerId, key }
      writes.push({ collection: contributions, operation: { kind: 'put', document } })
    }),
  )
  await Promise.all(
    Array.from(added, async ([id, by]) => {
      const { document: before } = await counts.read(id, id)
      const document: CountedKey = { id, count: (before?.count ?? 0) + by }
      writes.push({ collection: counts, operation: { kind: 'put', document } })
    }),
  )
  return writes
}

/** Changes per second from the first batch, which is not counted, until all have come. */
class DrainRate {
  readonly #all: number
  readonly #done = Promise.withResolvers<number>()
  #seen = 0
  #first: { readonly atMs: number; readonly changes: number } | undefined

  constructor(all: number) {
    this.#all = all
  }

  get done(): Promise<number> {
    return this.#done.promise
  }

  add(changes: number): void {
    this.#seen += changes
    this.#first ??= { atMs: machineMs(), changes }
    if (this.#seen < this.#all) return
    const seconds = (machineMs() - this.#first.atMs) / 1000
    this.#done.resolve((this.#seen - this.#first.changes) / seconds)
  }
}
