import type { BulkOperation } from '@tidemark/contracts'
import { orderDocument, type OrderDocument } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { PrototypeOneWriter } from '../raw/prototype-one-writer.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** A load of new documents, whose partition keys follow each other in turn. */
export const writeBulk: Scenario = {
  name: 'write-bulk',
  measures: [
    {
      name: 'store.write.bulk',
      unit: 'documents/s',
      rawIs: 'bare node:sqlite, same tables, 1,000 documents a transaction, on the same thread',
      goal: { of: 'value', is: 'atLeast', limit: 60_000 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    const prototype = new PrototypeOneWriter(folder)
    let ours = 0
    let bare = 0
    function* creates(): Generator<BulkOperation<OrderDocument>> {
      const end = ours + documents
      while (ours < end) yield { kind: 'create', document: orderDocument(ours++) }
    }
    return {
      async ours() {
        const startMs = performance.now()
        for await (const outcome of store.orders.bulk(creates())) {
          if (outcome.kind === 'failed') throw outcome.error
        }
        return { 'store.write.bulk': (documents * 1000) / (performance.now() - startMs) }
      },
      raw() {
        const startMs = performance.now()
        prototype.load(documents, bare)
        bare += documents
        return Promise.resolve({
          'store.write.bulk': (documents * 1000) / (performance.now() - startMs),
        })
      },
      async [Symbol.asyncDispose]() {
        prototype[Symbol.dispose]()
        await store.close()
      },
    }
  },
}
