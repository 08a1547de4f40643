import { customerOf, orderDocument, orderId } from '../data/order-document.ts'
import { latenciesOfPaced } from '../measuring/paced-calls.ts'
import type { Figures, PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { ShiftedClock } from '@tidemark/testing'
import { quantile } from '../measuring/statistics.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { PrototypeSweep } from '../raw/prototype-sweep.ts'
import { ExpiringStore } from '../store/expiring-store.ts'
import { sweepPieces, type PieceRun } from '../store/maintenance-pieces.ts'

/** Of each operation: reads and writes. */
const CALLS_PER_SECOND = 1_000
/** Part of the heap that one measurement sweeps at most: it has to last for several. */
const LARGEST_PART = 1 / 6
/** A heap below this part of its size is built up again. */
const SMALLEST_PART = 1 / 5

/** A heap of expired documents, as after days of downtime: how fast it goes, and whom that disturbs. */
export const expirySweep: Scenario = {
  name: 'expiry-sweep',
  measures: [
    {
      name: 'ttl.sweep',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, the same moves in commits of 500, on the same thread',
    },
    {
      name: 'ttl.sweep.background',
      unit: 'documents/s',
      rawIs: 'our own ttl.sweep: without pauses and without requests beside it',
    },
    {
      name: 'ttl.foreground.read.p99',
      unit: 'ms',
      rawIs: 'the same without the sweep; from when the read was due',
    },
    {
      name: 'ttl.foreground.write.p99',
      unit: 'ms',
      rawIs: 'the same without the sweep; from when the write was due',
    },
  ],
  async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
    const heap = new ExpiredHeap(folder, manyDocuments)
    const prototype = new PrototypeSweep(folder)
    await heap.refill()
    prototype.load(manyDocuments)
    let unsweptOfPrototype = manyDocuments
    let lastSweep = Number.NaN
    return {
      async ours(seconds) {
        lastSweep = perSecond(await heap.sweep(seconds))
        return { 'ttl.sweep': lastSweep, ...(await heap.requestsBesideSweep(seconds)) }
      },
      async raw(seconds) {
        const most = manyDocuments * LARGEST_PART
        if (unsweptOfPrototype < most) {
          prototype.load(manyDocuments)
          unsweptOfPrototype = manyDocuments
        }
        const swept = prototype.sweep({ seconds, most })
        unsweptOfPrototype -= swept.items
        return {
          'ttl.sweep': perSecond(swept),
          'ttl.sweep.background': lastSweep,
          ...(await heap.requestsAlone(seconds)),
        }
      },
      async [Symbol.asyncDispose]() {
        prototype[Symbol.dispose]()
      },
    }
  },
}

class ExpiredHeap {
  readonly #folder: string
  readonly #count: number
  readonly #living: number
  readonly #clock = new ShiftedClock()
  #unswept = 0

  constructor(folder: string, count: number) {
    this.#folder = folder
    this.#count = count
    this.#living = Math.min(10_000, Math.ceil(count / 10))
  }

  async refill(): Promise<void> {
    await using heap = await this.#open('manual')
    await heap.load({ living: this.#living, count: this.#count }, this.#clock)
    this.#unswept = this.#count - this.#living
  }

  /** Piece after piece, nothing else going on. */
  async sweep(seconds: number): Promise<PieceRun> {
    if (this.#unswept < this.#count * LARGEST_PART) await this.refill()
    await using heap = await this.#open('manual')
    const most = this.#count * LARGEST_PART
    const swept = await sweepPieces(heap.orders, { seconds, most })
    this.#unswept -= swept.items
    return swept
  }

  /** Requests while the store sweeps by itself, as it does by default; ends with the heap. */
  async requestsBesideSweep(seconds: number): Promise<Figures> {
    if (this.#unswept < this.#count * SMALLEST_PART) await this.refill()
    await using heap = await this.#open('background')
    await heap.untilSweeping()
    const before = heap.swept
    const began = machineMs()
    let endedMs = began
    const figures = await this.#requests(heap, () => {
      endedMs = machineMs()
      return endedMs > began + seconds * 1000 || heap.swept >= this.#unswept
    })
    const run = { items: heap.swept - before, ms: endedMs - began }
    this.#unswept -= heap.swept
    return { 'ttl.sweep.background': perSecond(run), ...figures }
  }

  async requestsAlone(seconds: number): Promise<Figures> {
    await using heap = await this.#open('manual')
    const began = machineMs()
    return await this.#requests(heap, () => machineMs() > began + seconds * 1000)
  }

  async #requests({ orders }: ExpiringStore, isOver: () => boolean): Promise<Figures> {
    const living = this.#living
    const { reads, writes } = await latenciesOfPaced(
      {
        reads: async (turn) => {
          const index = (turn * 7_919) % living
          const { document } = await orders.read(orderId(index), customerOf(index))
          if (document === undefined) throw new Error(`order ${index} is not there`)
        },
        writes: (turn) => orders.upsert(orderDocument((turn * 6_007) % living, turn)),
      },
      { perSecond: CALLS_PER_SECOND, isOver },
    )
    return {
      'ttl.foreground.read.p99': quantile(reads, 0.99),
      'ttl.foreground.write.p99': quantile(writes, 0.99),
    }
  }

  #open(maintenance: 'manual' | 'background'): Promise<ExpiringStore> {
    return ExpiringStore.open(this.#folder, { clock: this.#clock, maintenance })
  }
}

function perSecond({ items, ms }: PieceRun): number {
  return (items / ms) * 1000
}
