import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Collection, Store } from '@tidemark/store'
import { DOCUMENT_BYTES, orderDocument, type OrderDocument } from '../data/order-document.ts'
import type { Figures, PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { ShiftedClock } from '@tidemark/testing'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { folderBytes } from '../store/folder-bytes.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const MAX_DOCUMENTS = 50_000
const TTL_SECONDS = 3_600
const RETENTION_SECONDS = 86_400
const UNIT = 'bytes'
const WITHOUT_TTL = 'our own without TTL'

/** Bytes on disk per byte of the live documents' JSON text (1,036 each), each in a store of its own, closed. */
export const bytesPerLiveByte: Scenario = {
  name: 'bytes-per-live-byte',
  measures: [
    {
      name: 'store.bytesPerLiveByte',
      unit: UNIT,
      rawIs: 'bare node:sqlite, same tables, a quarter with expiry',
    },
    { name: 'store.bytesPerLiveByte.ttl', unit: UNIT, rawIs: WITHOUT_TTL },
    { name: 'store.bytesPerLiveByte.halfPending', unit: UNIT, rawIs: WITHOUT_TTL },
    { name: 'store.bytesPerLiveByte.halfPurged', unit: UNIT, rawIs: WITHOUT_TTL },
    { name: 'store.bytesPerLiveByte.refilled', unit: UNIT, rawIs: WITHOUT_TTL },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const count = Math.min(documents, MAX_DOCUMENTS)
    // Always the same amount of work: once is enough.
    let figures: { readonly ours: Figures; readonly raw: Figures } | undefined
    const measured = async (): Promise<{ readonly ours: Figures; readonly raw: Figures }> =>
      (figures ??= await measureSizes(folder, count))
    return {
      ours: async () => (await measured()).ours,
      raw: async () => (await measured()).raw,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
}

async function measureSizes(
  folder: string,
  count: number,
): Promise<{ readonly ours: Figures; readonly raw: Figures }> {
  const plain = new SizedStore(join(folder, 'plain'), null)
  await plain.write(count, 0)
  const without = await plain.perLiveByte()

  const ttl = new SizedStore(join(folder, 'ttl'), -1)
  await ttl.write(count, count)
  const withTtl = await ttl.perLiveByte()

  const half = new SizedStore(join(folder, 'half'), -1)
  await half.write(count, Math.floor(count / 2))
  await half.maintainAfter(2 * TTL_SECONDS)
  const pending = await half.perLiveByte()
  await half.maintainAfter(2 * RETENTION_SECONDS)
  const purged = await half.perLiveByte()
  await half.write(count, Math.floor(count / 2))
  const refilled = await half.perLiveByte()

  const bare = await sizeOfPrototype(folder, count)
  return {
    ours: {
      'store.bytesPerLiveByte': without,
      'store.bytesPerLiveByte.ttl': withTtl,
      'store.bytesPerLiveByte.halfPending': pending,
      'store.bytesPerLiveByte.halfPurged': purged,
      'store.bytesPerLiveByte.refilled': refilled,
    },
    raw: {
      'store.bytesPerLiveByte': bare,
      'store.bytesPerLiveByte.ttl': without,
      'store.bytesPerLiveByte.halfPending': without,
      'store.bytesPerLiveByte.halfPurged': without,
      'store.bytesPerLiveByte.refilled': without,
    },
  }
}

/** A store that is opened for each step, so that its size is taken at rest. */
class SizedStore {
  readonly #folder: string
  readonly #defaultTtl: number | null
  readonly #clock = new ShiftedClock()

  constructor(folder: string, defaultTtl: number | null) {
    this.#folder = folder
    this.#defaultTtl = defaultTtl
  }

  /** Documents 0 to `count`, the first of which, so many, expire. */
  async write(count: number, expiring: number): Promise<void> {
    await using store = await this.#open()
    const orders = await this.#orders(store)
    await loadBatches(orders, batchesOf(count), (index) => {
      const document = orderDocument(index)
      return index < expiring ? { ...document, ttl: TTL_SECONDS } : document
    })
  }

  async maintainAfter(seconds: number): Promise<void> {
    this.#clock.step(1000 * seconds)
    await using store = await this.#open()
    const { swept, purged } = await store.runMaintenance()
    if (swept + purged === 0) throw new Error('nothing was swept and nothing was purged')
  }

  async perLiveByte(): Promise<number> {
    let live: number
    {
      await using store = await this.#open()
      live = await (await this.#orders(store)).count()
    }
    return (await folderBytes(this.#folder)) / (live * DOCUMENT_BYTES)
  }

  #open(): Promise<Store> {
    return openStoreIn(this.#folder, { clock: this.#clock, maintenance: 'manual' })
  }

  #orders(store: Store): Promise<Collection<OrderDocument>> {
    return ordersIn(store, {
      id: 'orders',
      defaultTtl: this.#defaultTtl,
      pendingDeletes: { retentionSeconds: RETENTION_SECONDS },
    })
  }
}

async function sizeOfPrototype(folder: string, count: number): Promise<number> {
  const own = join(folder, 'prototype')
  await mkdir(own)
  {
    using prototype = new PrototypeOneWriter(own)
    prototype.load(count)
  }
  return (await folderBytes(own)) / (count * DOCUMENT_BYTES)
}
