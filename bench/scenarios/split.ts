import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedRange } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { customerOf, orderDocument, orderId, type OrderDocument } from '../data/order-document.ts'
import { latenciesOfPaced } from '../measuring/paced-calls.ts'
import type { Figures, PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { quantile } from '../measuring/statistics.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { orderOfRange } from '../store/order-of-range.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'
import { mergeBoth, splitOnly } from '../store/range-ids.ts'

const PAGE = 1_000
const WRITES_PER_SECOND = 1_000
/** Writes go on for this long before and after a split; less in short runs. */
const MAX_AROUND_MS = 500

/**
 * A split of one range with very many documents: when both children serve, and what writers notice. After
 * each the children are merged again; nothing is folded, so that every split is of the same rows.
 */
export const split: Scenario = {
  name: 'split',
  measures: [
    {
      name: 'split.serve',
      unit: 'ms',
      rawIs: 'two pages, reads and writes of the range without a split',
    },
    {
      name: 'split.serve.at',
      unit: 'ms',
      rawIs: 'two pages, reads and writes of the range without a split',
    },
    { name: 'split.write.p99', unit: 'ms', rawIs: 'the same without a split' },
  ],
  async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder, { maintenance: 'manual' })
    const orders = await ordersIn(store, { id: 'orders', partitionCount: 1 })
    await loadBatches(orders, batchesOf(manyDocuments))
    const range = new SplitRange(orders, manyDocuments)
    await range.findMiddle()
    return {
      async ours(seconds) {
        return {
          'split.serve': await range.measureSplit({}),
          'split.serve.at': await range.measureSplit({ at: range.middle }),
          'split.write.p99': await range.measureWrites('split', seconds),
        }
      },
      async raw(seconds) {
        const ms = await range.measureServing()
        return {
          'split.serve': ms,
          'split.serve.at': ms,
          'split.write.p99': await range.measureWrites('no split', seconds),
        } satisfies Figures
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}

class SplitRange {
  readonly #orders: Collection<OrderDocument>
  readonly #documents: number
  #halves: readonly FeedRange[] = []
  #revision = 1

  constructor(orders: Collection<OrderDocument>, documents: number) {
    this.#orders = orders
    this.#documents = documents
  }

  /** EPK at which a split shares the documents out evenly. */
  get middle(): string {
    return this.#halves[1]?.minInclusive ?? ''
  }

  async findMiddle(): Promise<void> {
    this.#halves = await splitOnly(this.#orders)
    await mergeBoth(this.#orders)
  }

  /** From the call until both children have served a page, a read and a write. */
  async measureSplit(options: { readonly at?: string }): Promise<number> {
    const started = machineMs()
    const children = await splitOnly(this.#orders, options)
    await Promise.all(children.map((child) => this.#serve(child, child)))
    const ms = machineMs() - started
    await mergeBoth(this.#orders)
    return ms
  }

  /** The same of the range as it is. */
  async measureServing(): Promise<number> {
    const [range] = await this.#orders.readFeedRanges()
    if (range === undefined) throw new Error('the collection has no range')
    const started = machineMs()
    await Promise.all(this.#halves.map((half) => this.#serve(range, half)))
    return machineMs() - started
  }

  /** p99 of paced writes before, during and after. */
  async measureWrites(meanwhile: 'split' | 'no split', seconds: number): Promise<number> {
    const aroundMs = Math.min(MAX_AROUND_MS, seconds * 500)
    let endMs = Infinity
    const writing = latenciesOfPaced(
      {
        writes: (turn) =>
          this.#orders.upsert(orderDocument((turn * 6_007) % this.#documents, turn)),
      },
      { perSecond: WRITES_PER_SECOND, isOver: () => machineMs() > endMs },
    )
    await sleep(aroundMs)
    if (meanwhile === 'split') await splitOnly(this.#orders)
    endMs = machineMs() + aroundMs
    const { writes } = await writing
    if (meanwhile === 'split') await mergeBoth(this.#orders)
    return quantile(writes, 0.99)
  }

  async #serve(range: FeedRange, part: FeedRange): Promise<void> {
    const orders = this.#orders
    const index = orderOfRange(part)
    const { continuation } = await orders.resolveStart({ range, start: 'beginning' })
    const [page, { document }] = await Promise.all([
      orders.readPage({ range, continuation, maxItemCount: PAGE }),
      orders.read(orderId(index), customerOf(index)),
      orders.upsert(orderDocument(index, this.#revision++)),
    ])
    if (page.changes.length === 0 || document === undefined) throw new Error('nothing was served')
  }
}
