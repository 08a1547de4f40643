import { orderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { PrototypeData } from '../raw/prototype-data.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'
import { startBenchServer } from './bench-server.ts'
import { loadPrototype } from './load-prototype.ts'
import { PrototypeGroups } from './raw/prototype-groups.ts'
import { RowByRow } from './raw/row-by-row.ts'

const WRITERS = 64

/** 64 writers on one range: what batches are for, since a range's commits go one after the other. */
export const postgresHotRange: Scenario = {
  name: 'postgres-hot-range',
  measures: [
    {
      name: 'postgres.write.hotRange',
      unit: 'documents/s',
      rawIs: 'bare pg, a commit for each document, 64 connections',
      goal: { of: 'ratio', is: 'atLeast', limit: 8 },
    },
    {
      name: 'postgres.write.hotRange.perPrototype',
      unit: 'documents/s',
      rawIs: 'bare pg, same tables, one statement a group',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
  ],
  async prepare({ documents }): Promise<PreparedScenario> {
    const server = await startBenchServer()
    const store = await openStoreIn(await server.createDatabase())
    const orders = await ordersIn(store, { id: 'hot', partitionCount: 1 })
    await loadBatches(orders, batchesOf(documents))
    const bare = await server.createDatabase()
    await loadPrototype(bare, { count: documents, segments: 1 })
    const groups = new PrototypeGroups(bare)
    const rowByRow = new RowByRow(bare, WRITERS)
    const data = new PrototypeData()
    let next = 0
    const rate = async (
      write: (index: number, revision: number) => Promise<unknown>,
      seconds: number,
    ): Promise<number> => {
      const { perSecond } = await rateOfConcurrent(
        async () => {
          const revision = next++
          await write(revision % documents, revision)
          return 1
        },
        { writers: WRITERS, seconds },
      )
      return perSecond
    }
    return {
      async ours(seconds) {
        const perSecond = await rate(
          (index, revision) => orders.upsert(orderDocument(index, revision)),
          seconds,
        )
        return {
          'postgres.write.hotRange': perSecond,
          'postgres.write.hotRange.perPrototype': perSecond,
        }
      },
      async raw(seconds) {
        const of = (index: number, revision: number) => ({
          ...data.write(index, revision),
          segment: 0,
        })
        return {
          'postgres.write.hotRange': await rate((...at) => rowByRow.write(of(...at)), seconds),
          'postgres.write.hotRange.perPrototype': await rate(
            (...at) => groups.write(of(...at)),
            seconds,
          ),
        }
      },
      async [Symbol.asyncDispose]() {
        await groups[Symbol.asyncDispose]()
        await rowByRow[Symbol.asyncDispose]()
        await store.close()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}
