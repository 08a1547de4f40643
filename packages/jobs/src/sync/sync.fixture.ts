import { systemClock, type DocumentBody, type LeaseStore } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection, Database, Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import type { SinkEntry } from './sink-entry.ts'
import type { Sink, SinkContext } from './sink.ts'
import type { SyncEvent } from './sync-events.ts'
import type { SyncOptions } from './sync-options.ts'
import { syncTo, type Sync } from './sync-to.ts'

export interface Order extends DocumentBody {
  readonly customer: string
  readonly total: number
  readonly ttl?: number
}

export interface SyncStage extends AsyncDisposable {
  readonly store: Store
  readonly database: Database
  readonly orders: Collection<Order>
  readonly leases: LeaseStore
  readonly events: SyncEvent[]
  /** A worker that is stopped with the stage. */
  worker(options: Pick<SyncOptions<Order>, 'sink'> & Partial<SyncOptions<Order>>): Sync
  /** Runs a worker until it has caught up. */
  sync(options: Pick<SyncOptions<Order>, 'sink'> & Partial<SyncOptions<Order>>): Promise<void>
}

/** A source in memory, on the machine's clock. */
export async function stage(): Promise<SyncStage> {
  const store = await openMemoryStore()
  const database = store.database('shop')
  const orders = await database.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
    partitionCount: 2,
    defaultTtl: -1,
    allVersions: { retentionSeconds: 3600 },
  })
  const leases = new MemoryLeaseStore({ clock: systemClock })
  const events: SyncEvent[] = []
  const workers: Sync[] = []
  const worker: SyncStage['worker'] = (options) => {
    const one = syncTo<Order>({
      feed: orders,
      leases,
      group: 'copy',
      deletes: 'ignore',
      onEvent: (event) => events.push(event),
      ...options,
    })
    workers.push(one)
    return one
  }
  return {
    store,
    database,
    orders,
    leases,
    events,
    worker,
    async sync(options) {
      const one = worker({ stopWhenCaughtUp: true, ...options })
      await one.start()
      await one.finished
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((one) => one.stop().catch(() => {})))
      await store.close()
    },
  }
}

/** What every sink that orders versions must end with, whatever came in between: document texts by customer and id. */
export async function documentsOf(orders: Collection<Order>): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (let continuation: string | undefined; ;) {
    const page = await orders.readDocuments({ continuation, maxItemCount: 1_000 })
    for (const { customer, id, total } of page.documents) found.set(`${customer}/${id}`, total)
    continuation = page.continuation
    if (continuation === undefined) return found
  }
}

/** Holds back the first call that `isHeld` picks, as the call of a worker that stands still, until `release`. */
export function heldSink(
  inner: Sink<SinkEntry<Order>>,
  isHeld: (batch: readonly SinkEntry<Order>[]) => boolean,
): {
  readonly sink: Sink<SinkEntry<Order>>
  readonly held: Promise<void>
  readonly release: () => Promise<void>
} {
  const holding = Promise.withResolvers<void>()
  let late: (() => Promise<void>) | undefined
  const sink: Sink<SinkEntry<Order>> = {
    ordersVersions: inner.ordersVersions,
    open: (source, options) => inner.open?.(source, options) ?? Promise.resolve(),
    async write(batch, context) {
      if (late !== undefined || !isHeld(batch)) return inner.write(batch, context)
      // It stands still: nobody may abort what it will do.
      late = () => inner.write(batch, { ...context, signal: new AbortController().signal })
      holding.resolve()
      return new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason))
      })
    },
  }
  return { sink, held: holding.promise, release: async () => late?.() }
}

/** For calls of a sink by hand. */
export function contextOf(epoch = 1): SinkContext {
  const range = { minInclusive: '', maxExclusive: 'FF' }
  const fence = { generation: 'g', epoch, lsn: 0 }
  return { source: 'shop/orders', job: 'copy', range, fence, signal: new AbortController().signal }
}

/** An entry by hand. */
export function entryOf(
  id: string,
  {
    lsn,
    epoch = 0,
    total,
    customer = 'c',
  }: { lsn: number; epoch?: number; total: number | undefined; customer?: string },
): SinkEntry<Order> {
  const system = { _rid: 'r', _self: 's', _etag: `"${lsn}"`, _ts: 1, _lsn: lsn }
  const about = {
    key: `${customer}-${id}-${epoch}-${lsn}`,
    feed: 'store/rid',
    partitionKey: customer,
    partitionKeyText: JSON.stringify([customer]),
    id,
    epoch,
    lsn,
  }
  return total === undefined
    ? { ...about, operation: 'delete', kind: 'delete', document: undefined }
    : { ...about, operation: 'put', kind: 'document', document: { id, customer, total, ...system } }
}
