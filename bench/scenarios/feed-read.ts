import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { JsonParseLimit } from '../raw/json-parse.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { PrototypeReader } from '../raw/prototype-reader.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import { scanFeed, scanFeedUnparsed } from '../store/read-feed.ts'

/** The feed from the beginning to the end, again and again, page by page. */
export const feedRead: Scenario = {
  name: 'feed-read',
  measures: [
    {
      name: 'feed.read.parsed',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents (pages of 1,000)',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.52 },
    },
    {
      name: 'feed.read.parsed.page100',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents (pages of 100)',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.52 },
    },
    {
      name: 'feed.read.parsed.perPrototype',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, parsed (pages of 1,000)',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
    {
      name: 'feed.read.unparsed',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, body text (pages of 1,000)',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.9 },
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
    return {
      async ours(seconds) {
        const parsed = await rate(() => scanFeed(store, { pageSize: 1_000 }), seconds)
        return {
          'feed.read.parsed': parsed,
          'feed.read.parsed.perPrototype': parsed,
          'feed.read.parsed.page100': await rate(() => scanFeed(store, { pageSize: 100 }), seconds),
          'feed.read.unparsed': await rate(() => scanFeedUnparsed(store, 1_000), seconds),
        }
      },
      async raw(seconds) {
        const parse = limit.measure(seconds)
        return {
          'feed.read.parsed': parse,
          'feed.read.parsed.page100': parse,
          'feed.read.parsed.perPrototype': prototype.measureFeed(
            { parse: true, pageSize: 1_000 },
            seconds,
          ),
          'feed.read.unparsed': prototype.measureFeed({ parse: false, pageSize: 1_000 }, seconds),
        }
      },
      async [Symbol.asyncDispose]() {
        prototype[Symbol.dispose]()
        await store.close()
      },
    }
  },
}

/** Repeats a scan for about `seconds`; documents per second. */
async function rate(scan: () => Promise<number>, seconds: number): Promise<number> {
  const started = machineMs()
  let documents = 0
  do {
    const scanned = await scan()
    documents += scanned
  } while (machineMs() < started + seconds * 1000)
  return (documents / (machineMs() - started)) * 1000
}
