import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { JsonParseLimit } from '../raw/json-parse.ts'
import { NaivePollFeed } from '../peers/naive-poll/poll-feed.ts'
import { drainWithHost } from '../store/drain.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import { looksAtKeys } from '../store/read-feed.ts'

/**
 * A host with leases and checkpoints drains the feed to an observer that looks at each document, and to one that looks
 * at keys only; beside them a naive polling loop, which parses all it reads.
 */
export const observerInProcess: Scenario = {
  name: 'observer-in-process',
  measures: [
    {
      name: 'feed.observer.inProcess',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
    },
    {
      name: 'feed.observer.inProcess.perNaivePoll',
      unit: 'documents/s',
      rawIs: 'a naive polling loop with better-sqlite3',
      goal: { of: 'ratio', is: 'atLeast', limit: 1 },
    },
    {
      name: 'feed.observer.keysOnly',
      unit: 'documents/s',
      rawIs: 'a naive polling loop with better-sqlite3, which parses',
      goal: { of: 'ratio', is: 'atLeast', limit: 2.2 },
    },
    {
      name: 'feed.observer.naivePoll',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const naive = new NaivePollFeed(`${folder}/naive.db`)
    naive.load(documents)
    const limit = new JsonParseLimit()
    let groups = 0
    let naiveRate = Number.NaN
    return {
      async ours() {
        const rate = await drainWithHost(store, documents, { group: `drain-${++groups}` })
        const keysOnly = { group: `drain-${++groups}`, look: looksAtKeys }
        const keyRate = await drainWithHost(store, documents, keysOnly)
        let total = 0
        naiveRate = await naive.drain((document) => {
          total += document.total
        })
        if (total === 0) throw new Error('the naive loop saw nothing')
        return {
          'feed.observer.inProcess': rate,
          'feed.observer.inProcess.perNaivePoll': rate,
          'feed.observer.keysOnly': keyRate,
          'feed.observer.naivePoll': naiveRate,
        }
      },
      async raw(seconds) {
        const parse = limit.measure(seconds)
        return {
          'feed.observer.inProcess': parse,
          'feed.observer.inProcess.perNaivePoll': naiveRate,
          'feed.observer.keysOnly': naiveRate,
          'feed.observer.naivePoll': parse,
        }
      },
      async [Symbol.asyncDispose]() {
        naive[Symbol.dispose]()
        await store.close()
      },
    }
  },
}
