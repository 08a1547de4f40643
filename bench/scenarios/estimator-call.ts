import { ChangeFeedEstimator, DocumentLeaseStore } from '@tidemark/processor'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { median } from '../measuring/statistics.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const RANGES = 8
const LIMIT = 1_000
const GROUP = 'estimated'

/** How long it takes to say how far a group is behind that has everything before it. */
export const estimatorCall: Scenario = {
  name: 'estimator',
  measures: [
    {
      name: 'estimator.callMs',
      unit: 'ms (p50)',
      rawIs: 'reading what it counts: a page of 1,000 changes of each of the 8 ranges',
      goal: { of: 'ratio', is: 'atMost', limit: 0.5 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder, { maintenance: 'manual' })
    const orders = await ordersIn(store, { id: 'orders', partitionCount: RANGES })
    // Enough that every range has more before it than is counted.
    await loadBatches(orders, batchesOf(Math.max(documents, 2 * RANGES * LIMIT)))
    const leaseCollection = await store
      .database(orders.databaseId)
      .createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
    const leases = new DocumentLeaseStore(leaseCollection)
    const group = await leases.openGroup(GROUP)
    const ranges = await orders.readFeedRanges()
    const start = 'beginning'
    const made = await group.create(
      await Promise.all(
        ranges.map(async (range) => ({
          range,
          checkpoint: await orders.resolveStart({ range, start }),
        })),
      ),
    )
    await group.close()
    const estimator = new ChangeFeedEstimator({ feed: orders, leases, group: GROUP })
    return {
      ours: (seconds) =>
        typicalMs(seconds, async () => {
          const { remainingChanges, isExact } = await estimator.estimate({ limit: LIMIT })
          if (isExact || remainingChanges < RANGES * LIMIT) throw new Error('it missed some')
        }),
      raw: (seconds) =>
        typicalMs(seconds, async () => {
          await Promise.all(
            made.map(({ range, checkpoint: { continuation } }) =>
              orders.readPage({ range, continuation, maxItemCount: LIMIT }),
            ),
          )
        }),
      async [Symbol.asyncDispose]() {
        await estimator[Symbol.asyncDispose]()
        await store.close()
      },
    }
  },
}

/** Milliseconds of one call, one after the other for about `seconds`. */
async function typicalMs(
  seconds: number,
  call: () => Promise<void>,
): Promise<Readonly<Record<string, number>>> {
  const times: number[] = []
  const endMs = machineMs() + seconds * 1000
  do {
    const startMs = machineMs()
    await call()
    times.push(machineMs() - startMs)
  } while (machineMs() < endMs)
  return { 'estimator.callMs': median(times) }
}
