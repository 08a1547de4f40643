import { customerOf, orderId } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { JsonParseLimit } from '../raw/json-parse.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { PrototypeReader } from '../raw/prototype-reader.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** Point reads of parsed documents, one after the other. */
export const pointRead: Scenario = {
  name: 'point-read',
  measures: [
    {
      name: 'store.read.point',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, parsed',
    },
    {
      name: 'store.read.point.perParse',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.33 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    {
      using loader = new PrototypeOneWriter(folder)
      loader.load(documents)
    }
    const prototype = new PrototypeReader(`${folder}/prototype.db`)
    const limit = new JsonParseLimit()
    let turn = 0
    return {
      async ours(seconds) {
        const { perSecond } = await rateOfConcurrent(
          async () => {
            turn = (turn + 7_919) % documents
            const { document } = await store.orders.read(orderId(turn), customerOf(turn))
            if (document === undefined) throw new Error(`order ${turn} is not there`)
            return 1
          },
          { writers: 1, seconds },
        )
        return { 'store.read.point': perSecond, 'store.read.point.perParse': perSecond }
      },
      async raw(seconds) {
        return {
          'store.read.point': prototype.measurePointReads(documents, seconds),
          'store.read.point.perParse': limit.measure(seconds),
        }
      },
      async [Symbol.asyncDispose]() {
        prototype[Symbol.dispose]()
        await store.close()
      },
    }
  },
}
