import { orderDocument } from '../data/order-document.ts'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { quantile } from '../measuring/statistics.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import type { ScanReply, ScanRequest } from '../children/scan-feed.child.ts'

const WRITERS = 64

/** Does a reader that scans the whole feed in another process hold up 64 durable writers? */
export const writeBesideScan: Scenario = {
  name: 'write-beside-scan',
  measures: [
    {
      name: 'store.write.durable.64.p99.besideScan',
      unit: 'ms',
      rawIs: 'the same without the scanning reader',
      goal: { of: 'value', is: 'atMost', limit: 15 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const scanner = await BenchChild.start<ScanRequest, ScanReply>(
      new URL('../children/scan-feed.child.ts', import.meta.url),
    )
    let next = 0
    const measure = async (seconds: number): Promise<{ [name: string]: number }> => {
      const { latenciesMs } = await rateOfConcurrent(
        async () => {
          const revision = next++
          await store.orders.upsert(orderDocument(revision % documents, revision))
          return 1
        },
        { writers: WRITERS, seconds },
      )
      return { 'store.write.durable.64.p99.besideScan': quantile(latenciesMs, 0.99) }
    }
    return {
      async ours(seconds) {
        const scanning = scanner.call({ folder, seconds: seconds + 0.3 })
        const figures = await measure(seconds)
        const { documents: scanned } = await scanning
        if (scanned === 0) throw new Error('the scanning reader read nothing')
        return figures
      },
      raw: measure,
      async [Symbol.asyncDispose]() {
        await scanner[Symbol.asyncDispose]()
        await store.close()
      },
    }
  },
}
