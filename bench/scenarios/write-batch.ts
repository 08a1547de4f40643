import { customerOf, orderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { batchesOf, loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const SIZE = 100

/** One writer of durable transactions of 100 documents of one partition key value. */
export const writeBatch: Scenario = {
  name: 'write-batch',
  measures: [
    {
      name: 'store.write.batch100',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, same transactions, on the same thread',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    // Whole batches only: 500 customers have 100 documents each from 50,000 on.
    const count = Math.max(documents, 50_000)
    await loadOrders(store, count)
    const prototype = new PrototypeOneWriter(folder)
    prototype.load(count)
    const batches = batchesOf(count, SIZE).filter(({ length }) => length === SIZE)
    let next = 0
    return {
      async ours(seconds) {
        const { perSecond } = await rateOfConcurrent(
          async () => {
            const revision = next++
            const batch = batches[revision % batches.length]!
            await store.orders.batch(
              customerOf(batch[0]!),
              batch.map((index) => ({ kind: 'upsert', document: orderDocument(index, revision) })),
            )
            return batch.length
          },
          { writers: 1, seconds },
        )
        return { 'store.write.batch100': perSecond }
      },
      async raw(seconds) {
        return { 'store.write.batch100': prototype.measureBatches(batches, seconds) }
      },
      async [Symbol.asyncDispose]() {
        prototype[Symbol.dispose]()
        await store.close()
      },
    }
  },
}
