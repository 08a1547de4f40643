import { orderDocument } from '../data/order-document.ts'
import { serveParent } from '../measuring/child-process.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore, type BenchStore } from '../store/open-bench-store.ts'

export type WriteRequest =
  | { readonly kind: 'open'; readonly folder: string; readonly load?: number | undefined }
  | {
      readonly kind: 'write'
      readonly documents: number
      readonly seconds: number
      /** @default 64 */
      readonly writers?: number | undefined
    }

export interface WriteReply {
  readonly perSecond: number
  /** The longest that one write took. */
  readonly maxMs: number
}

const WRITERS = 64
let store: BenchStore | undefined
// Processes begin at different documents, so that they do not all write the same ones.
let next = process.pid * 1_009

serveParent(async (request: WriteRequest): Promise<WriteReply> => {
  if (request.kind === 'open') {
    store = await openBenchStore(request.folder)
    if (request.load !== undefined) await loadOrders(store, request.load)
    return { perSecond: 0, maxMs: 0 }
  }
  const opened = store
  if (opened === undefined) throw new Error('no store was opened')
  const { documents, seconds, writers = WRITERS } = request
  const { perSecond, latenciesMs } = await rateOfConcurrent(
    async () => {
      const revision = next++
      await opened.orders.upsert(orderDocument(revision % documents, revision))
      return 1
    },
    { writers, seconds },
  )
  return { perSecond, maxMs: latenciesMs.reduce((most, ms) => Math.max(most, ms), 0) }
})
