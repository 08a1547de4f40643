import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { ShiftedClock } from '@tidemark/testing'
import { orderDocument } from '../data/order-document.ts'
import { scanRate } from '../store/read-feed.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const PAGE = 1_000
const TTL_SECONDS = 3_600
const RETENTION_SECONDS = 1_000_000_000

/** A feed of pending deletes, each with its document's last version, as an archive reads it. */
export const pendingDeleteRead: Scenario = {
  name: 'pending-delete-read',
  measures: [
    {
      name: 'ttl.pendingDelete.read',
      unit: 'documents/s',
      rawIs: 'the feed of the same documents while they live (pages of 1,000)',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.7 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const clock = new ShiftedClock()
    const store = await openStoreIn(folder, { clock, maintenance: 'manual' })
    const pendingDeletes = { retentionSeconds: RETENTION_SECONDS }
    const expired = await ordersIn(store, { id: 'expired', defaultTtl: -1, pendingDeletes })
    const living = await ordersIn(store, { id: 'living', defaultTtl: -1, pendingDeletes })
    const batches = batchesOf(documents)
    await loadBatches(living, batches)
    await loadBatches(expired, batches, (index) => ({ ...orderDocument(index), ttl: TTL_SECONDS }))
    clock.step(1000 * 2 * TTL_SECONDS)
    const { swept } = await store.runMaintenance()
    if (swept !== documents) throw new Error(`${swept} of ${documents} documents were swept`)
    const scan = { documents, pageSize: PAGE }
    return {
      ours: async (seconds) => ({
        'ttl.pendingDelete.read': await scanRate(expired, { ...scan, seconds }),
      }),
      raw: async (seconds) => ({
        'ttl.pendingDelete.read': await scanRate(living, { ...scan, seconds }),
      }),
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}
