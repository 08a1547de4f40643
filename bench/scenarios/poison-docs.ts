import type { DeadLetter, IChangeFeedObserver } from '@tidemark/contracts'
import { orderId, type OrderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { AcceptedOrder, KeyOrder } from '../observers/key-order.ts'
import { rateUnderHost } from '../observers/timed-host.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const DOCUMENTS = 10_000
const POISON = orderId(5_000)

/** One document in 10,000 that is never accepted: found by halving its batch, and set aside. */
export const poisonDocs: Scenario = {
  name: 'poison-docs',
  measures: [
    {
      name: 'poison.docs',
      unit: 'documents/s',
      rawIs: 'the same run without poison',
    },
  ],
  async prepare({ folder }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, DOCUMENTS)
    const order = await KeyOrder.read(store.orders)
    const run = async (poison: string | undefined): Promise<number> => {
      const accepted = new AcceptedOrder()
      const letters: DeadLetter<OrderDocument>[] = []
      const observer: IChangeFeedObserver<OrderDocument> = {
        processChanges(_context, changes) {
          for (const { id } of changes) if (id === poison) throw new Error(`poison ${id}`)
          accepted.add(changes)
        },
      }
      const perSecond = await rateUnderHost({
        ...store,
        observer,
        count: DOCUMENTS,
        maxItemCount: 1_000,
        // Short pauses: it is the halving that is measured, not the waiting.
        hostOptions: { failurePolicy: { mode: 'deadLetter' }, retryDelayMs: 10 },
        deadLetters: (letter) => letters.push(letter),
      })
      order.check(accepted, { isWhole: true, without: poison })
      const found = letters.map(({ change, error }) => `${change.id}: ${error.message}`).join()
      const expected = poison === undefined ? '' : `${poison}: poison ${poison}`
      if (found !== expected) throw new Error(`dead letters: ${found || 'none'}`)
      return perSecond
    }
    return {
      ours: async () => ({ 'poison.docs': await run(POISON) }),
      raw: async () => ({ 'poison.docs': await run(undefined) }),
      [Symbol.asyncDispose]: () => store.close(),
    }
  },
}
