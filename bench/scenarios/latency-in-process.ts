import { orderDocument } from '../data/order-document.ts'
import {
  LATENCY_KEYS,
  latencyFigures,
  latencyMeasures,
  untilSize,
  WRITES_PER_SECOND,
} from '../measuring/latency-figures.ts'
import { latencies, writePaced } from '../measuring/paced-writes.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { PrototypeData } from '../raw/prototype-data.ts'
import { PrototypeGroupCommit } from '../raw/prototype-group-commit.ts'
import { PrototypeTail } from '../raw/prototype-tail.ts'
import { BenchObserver, benchHost, startWorking } from '../store/drain.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** Commit to observer while 1,000 documents a second are written, all in this process. */
export const latencyInProcess: Scenario = {
  name: 'latency-in-process',
  measures: latencyMeasures('latency.inProcess', 'bare reader in the same thread'),
  async prepare({ folder }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    const prototype = new PrototypeGroupCommit(folder)
    const data = new PrototypeData()
    await prototype.write([data.write(0, 0)])
    const tail = new PrototypeTail(prototype.file)
    let groups = 0
    return {
      async ours(seconds) {
        const host = benchHost(store, { group: `latency-${++groups}`, fromBeginning: false })
        const arrivals = new Map<number, number>()
        const observer = new BenchObserver((changes) => {
          const now = machineMs()
          for (const change of changes) {
            if (change.kind === 'document') arrivals.set(change.document.revision, now)
          }
        })
        await startWorking(host, observer)
        const times = await writePaced(
          async (revision) => {
            await store.orders.upsert(orderDocument(revision % LATENCY_KEYS, revision))
          },
          { perSecond: WRITES_PER_SECOND, seconds },
        )
        await untilSize(arrivals, times.acknowledged.size)
        await host.unregisterObservers()
        return latencyFigures('latency.inProcess', latencies(times, arrivals))
      },
      async raw(seconds) {
        tail.arrivals.clear()
        const times = await writePaced(
          async (revision) => {
            await prototype.write([data.write(revision % LATENCY_KEYS, revision)])
          },
          {
            perSecond: WRITES_PER_SECOND,
            seconds,
            // The next turn of the event loop: what a reader that waits gets at best.
            onAcknowledged: () => setImmediate(() => tail.readNew()),
          },
        )
        await untilSize(tail.arrivals, times.acknowledged.size)
        return latencyFigures('latency.inProcess', latencies(times, tail.arrivals))
      },
      async [Symbol.asyncDispose]() {
        tail[Symbol.dispose]()
        await prototype[Symbol.asyncDispose]()
        await store.close()
      },
    }
  },
}
