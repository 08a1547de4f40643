import type { Collection } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { batchesOf, loadBatches } from '../store/load-orders.ts'
import { foldRanges } from '../store/maintenance-pieces.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'
import { mergeBoth, rangeIds, splitOnly } from '../store/range-ids.ts'
import { scanRate } from '../store/read-feed.ts'

const CHANGES = 8
const PAGE = 1_000
const RAW = 'the same documents in a range that was never split'

/** The feed of a range with a history, before and after its segments were folded. */
export const feedReadFolded: Scenario = {
  name: 'feed-read-folded',
  measures: [
    { name: 'feed.read.unfolded', unit: 'documents/s', rawIs: RAW },
    { name: 'feed.read.folded', unit: 'documents/s', rawIs: RAW },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder, { maintenance: 'manual' })
    const collectionOf = (id: string): Promise<Collection<OrderDocument>> =>
      ordersIn(store, { id, partitionCount: 1 })
    const plain = await collectionOf('plain')
    await loadParts(plain, documents, async () => {})
    const unfolded = await collectionOf('unfolded')
    await loadParts(unfolded, documents, () => splitOrMerge(unfolded))
    const folded = await collectionOf('folded')
    await loadParts(folded, documents, () => splitOrMerge(folded))
    const { items } = await foldRanges(folded)
    // All but those that were written after the last change.
    if (items === 0) throw new Error('nothing was folded')
    const scan = { documents, pageSize: PAGE }
    return {
      async ours(seconds) {
        return {
          'feed.read.unfolded': await scanRate(unfolded, { ...scan, seconds }),
          'feed.read.folded': await scanRate(folded, { ...scan, seconds }),
        }
      },
      async raw(seconds) {
        const perSecond = await scanRate(plain, { ...scan, seconds })
        return { 'feed.read.unfolded': perSecond, 'feed.read.folded': perSecond }
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}

/** Calls `between` between the parts: as often to split as to merge, so that each leaves rows behind. */
async function loadParts(
  orders: Collection<OrderDocument>,
  documents: number,
  between: () => Promise<void>,
): Promise<void> {
  const batches = batchesOf(documents)
  const parts = 2 * CHANGES + 1
  for (let part = 0; part < parts; part++) {
    if (part > 0) await between()
    // Every part has documents of both halves.
    await loadBatches(
      orders,
      batches.filter((_, index) => index % parts === part),
    )
  }
}

async function splitOrMerge(orders: Collection<OrderDocument>): Promise<void> {
  if ((await rangeIds(orders)).length === 1) await splitOnly(orders)
  else await mergeBoth(orders)
}
