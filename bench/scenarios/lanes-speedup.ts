import { setTimeout as delay } from 'node:timers/promises'
import type { IChangeFeedObserver } from '@tidemark/contracts'
import type { OrderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { AcceptedOrder, KeyOrder } from '../observers/key-order.ts'
import { rateUnderHost } from '../observers/timed-host.ts'
import { loadBatches } from '../store/load-orders.ts'
import { openStoreIn, ordersIn } from '../store/open-bench-store.ts'

const LANES = 16
const WAIT_MS = 5
/** What one lane cannot do faster. */
const DOCUMENTS_PER_SECOND = 1000 / WAIT_MS
const DOCUMENTS = 10_000

/** An observer that waits for something else, 5 ms a document, with one range: 16 lanes against one. */
export const lanesSpeedup: Scenario = {
  name: 'lanes-speedup',
  measures: [
    {
      name: 'lanes.speedup',
      unit: 'documents/s',
      rawIs: 'the same observer with one lane, in the same order per key',
      goal: { of: 'ratio', is: 'atLeast', limit: 12 },
    },
  ],
  async prepare({ folder }): Promise<PreparedScenario> {
    const store = await openStoreIn(folder)
    const orders = await ordersIn(store, { id: 'orders', partitionCount: 1 })
    const leases = await store
      .database('shop')
      .createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
    // One by one, as they come: keys are mixed on every page.
    await loadBatches(
      orders,
      Array.from({ length: DOCUMENTS }, (_, index) => [index]),
    )
    const order = await KeyOrder.read(orders)
    const rate = async (maxConcurrentKeys: number, count: number): Promise<number> => {
      const accepted = new AcceptedOrder()
      const observer: IChangeFeedObserver<OrderDocument> = {
        async processChanges(_context, changes) {
          for (const change of changes) {
            await delay(WAIT_MS)
            accepted.add([change])
          }
        },
      }
      const hostOptions = { maxConcurrentKeys }
      const perSecond = await rateUnderHost({
        orders,
        leases,
        observer,
        count,
        maxItemCount: 100,
        hostOptions,
      })
      order.check(accepted, { isWhole: count >= DOCUMENTS })
      return perSecond
    }
    return {
      async ours(seconds) {
        const count = Math.min(DOCUMENTS, Math.round(seconds * DOCUMENTS_PER_SECOND * LANES))
        return { 'lanes.speedup': await rate(LANES, count) }
      },
      async raw(seconds) {
        const count = Math.max(200, Math.round(seconds * DOCUMENTS_PER_SECOND))
        return { 'lanes.speedup': await rate(1, count) }
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}
