import { orderDocument } from '../../data/order-document.ts'
import type { Figures, Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { quantile } from '../../measuring/statistics.ts'
import { rateOfConcurrent } from '../../measuring/stopwatch.ts'
import { PrototypeData } from '../../raw/prototype-data.ts'
import { SEGMENTS } from '../../raw/prototype-schema.ts'
import { loadOrders } from '../../store/load-orders.ts'
import { openBenchStore } from '../../store/open-bench-store.ts'
import { startBenchServer } from '../bench-server.ts'
import { loadPrototype } from '../load-prototype.ts'
import { PrototypeGroups } from '../raw/prototype-groups.ts'

const WRITERS = [1, 64, 256]

function measuresOf(writers: number): readonly Measure[] {
  const name = `postgres.write.durable.${writers}`
  return [
    {
      name,
      unit: 'documents/s',
      rawIs: 'bare pg, same tables, one statement a group',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
    { name: `${name}.p99`, unit: 'ms', rawIs: 'the same of the bare prototype' },
  ]
}

/** Writers that each wait for their durable write. */
export const postgresWrites: Scenario = {
  name: 'postgres-writes',
  measures: WRITERS.flatMap(measuresOf),
  async prepare({ documents }): Promise<PreparedScenario> {
    const server = await startBenchServer()
    const store = await openBenchStore(await server.createDatabase())
    await loadOrders(store, documents)
    const bare = await server.createDatabase()
    await loadPrototype(bare, { count: documents, segments: SEGMENTS })
    const prototype = new PrototypeGroups(bare)
    const data = new PrototypeData()
    let next = 0
    const sides = {
      ours: (index: number, revision: number) =>
        store.orders.upsert(orderDocument(index, revision)),
      raw: (index: number, revision: number) => prototype.write(data.write(index, revision)),
    }
    const measure = async (side: keyof typeof sides, seconds: number): Promise<Figures> => {
      const figures: Record<string, number> = {}
      for (const writers of WRITERS) {
        const { perSecond, latenciesMs } = await rateOfConcurrent(
          async () => {
            const revision = next++
            await sides[side](revision % documents, revision)
            return 1
          },
          { writers, seconds },
        )
        figures[`postgres.write.durable.${writers}`] = perSecond
        figures[`postgres.write.durable.${writers}.p99`] = quantile(latenciesMs, 0.99)
      }
      return figures
    }
    return {
      ours: (seconds) => measure('ours', seconds),
      raw: (seconds) => measure('raw', seconds),
      async [Symbol.asyncDispose]() {
        await prototype[Symbol.asyncDispose]()
        await store.close()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}
