import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection, Store } from '@tidemark/store'
import { orderDocument, type OrderDocument } from '../data/order-document.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import type { ShiftedClock } from '@tidemark/testing'
import { batchesOf, loadBatches } from './load-orders.ts'
import { openStoreIn, ordersIn } from './open-bench-store.ts'

const TTL_SECONDS = 3_600
/** Far more than what the clock is moved on: nothing is purged here. */
const RETENTION_SECONDS = 1_000_000_000
const PATIENCE_MS = 10_000

/** A store with a heap of expired documents, and documents that live for ever beside them. */
export class ExpiringStore implements AsyncDisposable {
  readonly #store: Store
  /** In one collection with the expired: reads and writes of these are what the sweep may disturb. */
  readonly orders: Collection<OrderDocument>
  #swept = 0

  private constructor(store: Store, orders: Collection<OrderDocument>) {
    this.#store = store
    this.orders = orders
    store.events.on('swept', ({ documents }) => {
      this.#swept += documents
    })
  }

  static async open(
    folder: string,
    { clock, maintenance }: { clock: ShiftedClock; maintenance: 'manual' | 'background' },
  ): Promise<ExpiringStore> {
    const mode = maintenance === 'manual' ? ({ maintenance } as const) : {}
    const store = await openStoreIn(folder, { clock, ...mode })
    const orders = await ordersIn(store, {
      id: 'expiring',
      defaultTtl: -1,
      pendingDeletes: { retentionSeconds: RETENTION_SECONDS },
    })
    return new ExpiringStore(store, orders)
  }

  /** What the background swept in this store since it was opened. */
  get swept(): number {
    return this.#swept
  }

  /** Loads documents 0 to `living`, which stay, and those up to `count`, which have expired afterwards. */
  async load(
    { living, count }: { living: number; count: number },
    clock: ShiftedClock,
  ): Promise<void> {
    await loadBatches(this.orders, batchesOf(count), (index) => {
      const document = orderDocument(index)
      return index < living ? document : { ...document, ttl: TTL_SECONDS }
    })
    clock.step(1000 * 2 * TTL_SECONDS)
  }

  /** Resolves when the background sweep has begun. */
  async untilSweeping(): Promise<void> {
    const deadline = machineMs() + PATIENCE_MS
    while (this.#swept === 0) {
      if (machineMs() > deadline) throw new Error('the background sweep did not begin')
      await sleep(1)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close()
  }
}
