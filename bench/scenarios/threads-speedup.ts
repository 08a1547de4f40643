import type { RegisteredObserver } from '@tidemark/processor'
import type { OrderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { createObserver } from '../observers/computing-observer.worker.ts'
import { rateUnderHost } from '../observers/timed-host.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const OBSERVER = new URL('../observers/computing-observer.worker.ts', import.meta.url)
/** Of one thread, about: what decides how many documents a measurement takes. */
const DOCUMENTS_PER_SECOND = 1_000
const PAGE = 100
/** About 1 ms a document where the results were recorded. Not measured here: what else runs would decide how much is done. */
const ROUNDS = 5_400

/** An observer that computes for about 1 ms a document: in two threads, in one, and on the host's event loop. */
export const threadsSpeedup: Scenario = {
  name: 'threads-speedup',
  measures: [
    {
      name: 'threads.speedup',
      unit: 'documents/s',
      rawIs: 'the same observer in one thread',
      goal: { of: 'ratio', is: 'atLeast', limit: 1.6 },
    },
    {
      name: 'threads.perEventLoop',
      unit: 'documents/s',
      rawIs: "the same observer on the host's event loop",
    },
    {
      name: 'threads.crossing',
      unit: 'documents/s',
      rawIs: "an observer that does nothing, on the host's event loop",
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const rate = (observer: RegisteredObserver<OrderDocument>, count: number): Promise<number> =>
      rateUnderHost({ ...store, observer, count, maxItemCount: PAGE })
    const inThreads = (
      threads: number,
      observerData: number,
    ): RegisteredObserver<OrderDocument> => ({
      observerModule: OBSERVER,
      threads,
      observerData,
    })
    const countOf = (seconds: number): number =>
      Math.min(documents, Math.max(10 * PAGE, Math.round(seconds * DOCUMENTS_PER_SECOND)))
    return {
      async ours(seconds) {
        const two = await rate(inThreads(2, ROUNDS), countOf(seconds))
        return {
          'threads.speedup': two,
          'threads.perEventLoop': two,
          'threads.crossing': await rate(inThreads(1, 0), documents),
        }
      },
      async raw(seconds) {
        return {
          'threads.speedup': await rate(inThreads(1, ROUNDS), countOf(seconds)),
          'threads.perEventLoop': await rate(createObserver(ROUNDS), countOf(seconds)),
          'threads.crossing': await rate(createObserver(0), documents),
        }
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}
