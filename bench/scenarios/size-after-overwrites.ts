import { DOCUMENT_BYTES } from '../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { folderBytes } from '../store/folder-bytes.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const OVERWRITES = 5
const DOCUMENTS = 20_000

/** Bytes on disk after every document was overwritten five times, beside the bytes of live documents. */
export const sizeAfterOverwrites: Scenario = {
  name: 'size-after-overwrites',
  measures: [
    {
      name: 'store.size.overwrites5',
      unit: 'MiB',
      rawIs: 'the JSON text of the live documents, as they were written',
      // The store adds about 150 bytes of system properties to each.
      goal: { of: 'ratio', is: 'atMost', limit: 2.3 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const count = Math.min(documents, DOCUMENTS)
    let size: number | undefined
    return {
      // Always the same amount of work: once is enough.
      async ours() {
        size ??= await overwrittenSize(folder, count)
        return { 'store.size.overwrites5': size }
      },
      raw: () => Promise.resolve({ 'store.size.overwrites5': (count * DOCUMENT_BYTES) / 2 ** 20 }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
}

async function overwrittenSize(folder: string, count: number): Promise<number> {
  const store = await openBenchStore(folder)
  for (let round = 0; round <= OVERWRITES; round++) await loadOrders(store, count)
  await store.close()
  return (await folderBytes(folder)) / 2 ** 20
}
