import type { Collection } from '@tidemark/store'
import { orderDocument, type OrderDocument } from '../data/order-document.ts'
import type { Figures, PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const WRITERS = 64
/** Of all sides, in one measurement. */
const TURNS = 5
const TTL_SECONDS = 86_400
const RAW = 'a collection without TTL and log, 64 writers'

/** What time to live and the log of all versions cost those who write. */
export const ttlWriteOverhead: Scenario = {
  name: 'ttl-write-overhead',
  measures: [
    { name: 'ttl.write.overhead.unused', unit: 'documents/s', rawIs: RAW },
    { name: 'ttl.write.overhead.used', unit: 'documents/s', rawIs: RAW },
    { name: 'allVersions.write.overhead', unit: 'documents/s', rawIs: RAW },
    { name: 'allVersions.write.overhead.previousImages', unit: 'documents/s', rawIs: RAW },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder)
    const collections = {
      plain: await ordersIn(store, { id: 'plain' }),
      ttl: await ordersIn(store, { id: 'ttl', defaultTtl: -1 }),
      log: await ordersIn(store, {
        id: 'log',
        allVersions: { retentionSeconds: TTL_SECONDS },
      }),
      images: await ordersIn(store, {
        id: 'images',
        allVersions: { retentionSeconds: TTL_SECONDS, previousImages: true },
      }),
    }
    for (const collection of Object.values(collections)) {
      await loadBatches(collection, batchesOf(documents))
    }
    let next = 0
    const rate = async (
      orders: Collection<OrderDocument>,
      seconds: number,
      properties: Pick<OrderDocument, 'ttl'> = {},
    ): Promise<number> => {
      const upsert = async (): Promise<number> => {
        const revision = next++
        await orders.upsert({ ...orderDocument(revision % documents, revision), ...properties })
        return 1
      }
      return (await rateOfConcurrent(upsert, { writers: WRITERS, seconds })).perSecond
    }
    const { plain, ttl, log, images } = collections
    let beside: Figures = {}
    return {
      async ours(seconds) {
        let plainSum = 0
        const sums = { unused: 0, used: 0, log: 0, images: 0 }
        // In short turns: the differences are smaller than what a machine's mood does within a second.
        for (let turn = 0; turn < TURNS; turn++) {
          plainSum += await rate(plain, seconds / TURNS)
          sums.unused += await rate(ttl, seconds / TURNS)
          sums.used += await rate(ttl, seconds / TURNS, { ttl: TTL_SECONDS })
          sums.log += await rate(log, seconds / TURNS)
          sums.images += await rate(images, seconds / TURNS)
        }
        beside = figuresOf({ unused: plainSum, used: plainSum, log: plainSum, images: plainSum })
        return figuresOf(sums)
      },
      raw: () => Promise.resolve(beside),
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}

function figuresOf(sums: Readonly<Record<'unused' | 'used' | 'log' | 'images', number>>): Figures {
  return {
    'ttl.write.overhead.unused': sums.unused / TURNS,
    'ttl.write.overhead.used': sums.used / TURNS,
    'allVersions.write.overhead': sums.log / TURNS,
    'allVersions.write.overhead.previousImages': sums.images / TURNS,
  }
}
