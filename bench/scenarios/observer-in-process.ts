import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { JsonParseLimit } from '../raw/json-parse.ts'
import { drainWithHost } from '../store/drain.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import { looksAtKeys } from '../store/read-feed.ts'

/** A host with leases and checkpoints drains the feed to an observer that looks at each document, and to one that looks at keys only. */
export const observerInProcess: Scenario = {
  name: 'observer-in-process',
  measures: [
    {
      name: 'feed.observer.inProcess',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
    },
    {
      name: 'feed.observer.keysOnly',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const limit = new JsonParseLimit()
    let groups = 0
    const newGroup = (): string => `drain-${++groups}`
    return {
      ours: async () => ({
        'feed.observer.inProcess': await drainWithHost(store, documents, { group: newGroup() }),
        'feed.observer.keysOnly': await drainWithHost(store, documents, {
          group: newGroup(),
          look: looksAtKeys,
        }),
      }),
      async raw(seconds) {
        const parse = limit.measure(seconds)
        return { 'feed.observer.inProcess': parse, 'feed.observer.keysOnly': parse }
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}
