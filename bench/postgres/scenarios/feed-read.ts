import type { PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { JsonParseLimit } from '../../raw/json-parse.ts'
import { SEGMENTS } from '../../raw/prototype-schema.ts'
import { loadOrders } from '../../store/load-orders.ts'
import { openBenchStore } from '../../store/open-bench-store.ts'
import { scanRate } from '../../store/read-feed.ts'
import { startBenchServer } from '../bench-server.ts'
import { loadPrototype } from '../load-prototype.ts'
import { PrototypeFeed } from '../raw/prototype-feed.ts'

const PAGE_SIZE = 1_000

/** The feed from the beginning to the end, again and again, in pages of 1,000. */
export const postgresFeedRead: Scenario = {
  name: 'postgres-feed-read',
  measures: [
    {
      name: 'postgres.feed.read.parsed',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.5 },
    },
    {
      name: 'postgres.feed.read.parsed.perPrototype',
      unit: 'documents/s',
      rawIs: 'bare pg, same tables, parsed',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
  ],
  async prepare({ documents }): Promise<PreparedScenario> {
    const server = await startBenchServer()
    const store = await openBenchStore(await server.createDatabase())
    await loadOrders(store, documents)
    const bare = await server.createDatabase()
    await loadPrototype(bare, { count: documents, segments: SEGMENTS })
    const prototype = await PrototypeFeed.open(bare, SEGMENTS)
    const limit = new JsonParseLimit()
    const scan = { documents, pageSize: PAGE_SIZE }
    return {
      async ours(seconds) {
        const parsed = await scanRate(store.orders, { ...scan, seconds })
        return {
          'postgres.feed.read.parsed': parsed,
          'postgres.feed.read.parsed.perPrototype': parsed,
        }
      },
      async raw(seconds) {
        return {
          'postgres.feed.read.parsed': limit.measure(seconds),
          'postgres.feed.read.parsed.perPrototype': await prototype.measure(scan, seconds),
        }
      },
      async [Symbol.asyncDispose]() {
        await prototype[Symbol.asyncDispose]()
        await store.close()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}
