import type { Change } from '@tidemark/contracts'
import type { OrderDocument } from '../data/order-document.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import type { BenchStore } from './open-bench-store.ts'

/** What a reader looks at of each change. */
export type Look = (change: Change<OrderDocument>) => number

export const looksAtDocuments: Look = (change) => {
  if (change.kind === 'version') return 0
  return (change.kind === 'document' ? change.document : change.lastVersion).total
}
/** As one that chooses by key: no text is parsed. */
export const looksAtKeys: Look = ({ id, partitionKey, lsn }) =>
  id.length + String(partitionKey).length + lsn

/** Reads every range's feed from the beginning to the end, and looks at each document. Returns how many. */
export async function scanFeed(
  { orders }: Pick<BenchStore, 'orders'>,
  {
    pageSize,
    until = Infinity,
  }: { readonly pageSize: number; readonly until?: number | undefined },
): Promise<number> {
  let documents = 0
  for (const range of await orders.readFeedRanges()) {
    let { continuation } = await orders.resolveStart({ range, start: 'beginning' })
    for (let caughtUp = false; !caughtUp && machineMs() < until;) {
      const page = await orders.readPage({ range, continuation, maxItemCount: pageSize })
      for (const change of page.changes) {
        // It is parsed now.
        if (looksAtDocuments(change) > 0) documents++
      }
      continuation = page.continuation
      caughtUp = page.caughtUp
    }
  }
  return documents
}

/** As `scanFeed`, with documents as the text that is stored. */
export async function scanFeedUnparsed({ orders }: BenchStore, pageSize: number): Promise<number> {
  let documents = 0
  for (const range of await orders.readFeedRanges()) {
    let { continuation } = await orders.resolveStart({ range, start: 'beginning' })
    for (let caughtUp = false; !caughtUp;) {
      const page = await orders.readPageText({ range, continuation, maxItemCount: pageSize })
      documents += page.bodies.length
      continuation = page.continuation
      caughtUp = page.caughtUp
    }
  }
  return documents
}
