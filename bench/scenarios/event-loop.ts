import { FULL_RANGE } from '@tidemark/contracts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const READS = ['count', 'lag', 'scan', 'feed', 'check'] as const

/** How long reads of a large collection hold the event loop of their process, on which its leases' heartbeats run. */
export const eventLoop: Scenario = {
  name: 'event-loop',
  measures: READS.map((read) => ({
    name: `eventLoop.hold.${read}`,
    unit: 'ms (longest)',
    rawIs: 'the loop of the same process with nothing to do',
    // A tenth of the margin by which a host stops before its session ends, with default options.
    goal: { of: 'value', is: 'atMost', limit: 80 },
  })),
  async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder, { maintenance: 'manual' })
    const orders = await ordersIn(store, { id: 'orders', partitionCount: 1 })
    await loadBatches(orders, batchesOf(manyDocuments))
    const [range = FULL_RANGE] = await orders.readFeedRanges()
    const start = 'beginning'
    const { continuation } = await orders.resolveStart({ range, start })
    const reads: Readonly<Record<(typeof READS)[number], () => Promise<unknown>>> = {
      count: () => orders.count(),
      lag: () => orders.measureLag({ range, continuation, limit: 100_000 }),
      scan: async () => {
        let next: string | undefined
        do ({ continuation: next } = await orders.readDocuments({ continuation: next }))
        while (next !== undefined)
      },
      feed: async () => {
        const pages = orders.changes({ from: 'beginning', follow: false })
        while ((await pages.next()).done !== true);
      },
      check: () => store.check(),
    }
    return {
      async ours() {
        const figures: Record<string, number> = {}
        for (const read of READS) figures[`eventLoop.hold.${read}`] = await longestHold(reads[read])
        return figures
      },
      async raw(seconds) {
        const idleMs = Math.min(seconds, 0.3) * 1000
        const idle = await longestHold(() => new Promise((resolve) => setTimeout(resolve, idleMs)))
        return Object.fromEntries(READS.map((read) => [`eventLoop.hold.${read}`, idle]))
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}

/** The longest time between two turns of the event loop while `act` runs, in ms. */
async function longestHold(act: () => Promise<unknown>): Promise<number> {
  let longestMs = 0
  let lastMs = machineMs()
  let next: NodeJS.Immediate
  const turn = (): void => {
    const nowMs = machineMs()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    next = setImmediate(turn)
  }
  next = setImmediate(turn)
  try {
    await act()
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    clearImmediate(next)
  }
  return longestMs
}
