import { orderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { quantile } from '../measuring/statistics.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { PrototypeData } from '../raw/prototype-data.ts'
import { PrototypeGroupCommit } from '../raw/prototype-group-commit.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const WRITERS = 64

/** 64 writers, each waiting for its durable write: group commit. */
export const writeMany: Scenario = {
  name: 'write-many',
  measures: [
    {
      name: 'store.write.durable.64',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, group commit in a worker thread',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
    {
      name: 'store.write.durable.64.perOne',
      unit: 'documents/s',
      rawIs: 'our own rate with one writer',
      goal: { of: 'ratio', is: 'atLeast', limit: 3 },
    },
    {
      name: 'store.write.durable.64.p99',
      unit: 'ms',
      rawIs: 'the same of the bare prototype',
      goal: { of: 'value', is: 'atMost', limit: 12 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    {
      using loader = new PrototypeOneWriter(folder)
      loader.load(documents)
    }
    const prototype = new PrototypeGroupCommit(folder)
    const data = new PrototypeData()
    let next = 0
    const upsert = async (): Promise<number> => {
      const revision = next++
      await store.orders.upsert(orderDocument(revision % documents, revision))
      return 1
    }
    return {
      async ours(seconds) {
        const { perSecond, latenciesMs } = await rateOfConcurrent(upsert, {
          writers: WRITERS,
          seconds,
        })
        return {
          'store.write.durable.64': perSecond,
          'store.write.durable.64.perOne': perSecond,
          'store.write.durable.64.p99': quantile(latenciesMs, 0.99),
        }
      },
      async raw(seconds) {
        const write = async (): Promise<number> => {
          const revision = next++
          await prototype.write([data.write(revision % documents, revision)])
          return 1
        }
        const { perSecond, latenciesMs } = await rateOfConcurrent(write, {
          writers: WRITERS,
          seconds,
        })
        const one = await rateOfConcurrent(upsert, { writers: 1, seconds: seconds / 2 })
        return {
          'store.write.durable.64': perSecond,
          'store.write.durable.64.perOne': one.perSecond,
          'store.write.durable.64.p99': quantile(latenciesMs, 0.99),
        }
      },
      async [Symbol.asyncDispose]() {
        await prototype[Symbol.asyncDispose]()
        await store.close()
      },
    }
  },
}
