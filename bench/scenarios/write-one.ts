import { orderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { measureFdatasync } from '../raw/fdatasync.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** One writer that waits for each durable write before the next. */
export const writeOne: Scenario = {
  name: 'write-one',
  measures: [
    {
      name: 'store.write.durable.1',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, on the same thread',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
    {
      name: 'store.write.durable.1.perSync',
      unit: 'documents/s',
      rawIs: 'fdatasync of 4 KB appends',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.45 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const prototype = new PrototypeOneWriter(folder)
    prototype.load(documents)
    let next = 0
    return {
      async ours(seconds) {
        const { perSecond } = await rateOfConcurrent(
          async () => {
            const revision = next++
            await store.orders.upsert(orderDocument(revision % documents, revision))
            return 1
          },
          { writers: 1, seconds },
        )
        return { 'store.write.durable.1': perSecond, 'store.write.durable.1.perSync': perSecond }
      },
      async raw(seconds) {
        return {
          'store.write.durable.1': prototype.measureSingle(documents, seconds),
          'store.write.durable.1.perSync': measureFdatasync(folder, seconds),
        }
      },
      async [Symbol.asyncDispose]() {
        prototype[Symbol.dispose]()
        await store.close()
      },
    }
  },
}
