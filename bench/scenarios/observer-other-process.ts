import type { DrainReply, DrainRequest } from '../children/drain-feed.child.ts'
import type { RawDrainRequest } from '../children/raw-drain-feed.child.ts'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { JsonParseLimit } from '../raw/json-parse.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** A worker process drains what this process wrote. A new process each time: its memory is a figure too. */
export const observerOtherProcess: Scenario = {
  name: 'observer-other-process',
  measures: [
    {
      name: 'feed.observer.otherProcess',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents',
    },
    {
      name: 'worker.rssMiB',
      unit: 'MiB',
      rawIs: 'a bare process that reads and parses the prototype feed once',
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    {
      using loader = new PrototypeOneWriter(folder)
      loader.load(documents)
    }
    const limit = new JsonParseLimit()
    let groups = 0
    return {
      async ours() {
        await using worker = await BenchChild.start<DrainRequest, DrainReply>(
          new URL('../children/drain-feed.child.ts', import.meta.url),
        )
        const drain = (): Promise<DrainReply> =>
          worker.call({ folder, documents, group: `drain-${++groups}` })
        // The first one compiles the worker's code; a long-running worker is past that.
        await drain()
        const { perSecond, rssMiB } = await drain()
        return { 'feed.observer.otherProcess': perSecond, 'worker.rssMiB': rssMiB }
      },
      async raw(seconds) {
        await using reader = await BenchChild.start<RawDrainRequest, { readonly rssMiB: number }>(
          new URL('../children/raw-drain-feed.child.ts', import.meta.url),
        )
        const { rssMiB } = await reader.call({ file: `${folder}/prototype.db` })
        return { 'feed.observer.otherProcess': limit.measure(seconds), 'worker.rssMiB': rssMiB }
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}
