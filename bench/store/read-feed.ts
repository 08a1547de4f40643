import { machineMs } from '../measuring/stopwatch.ts'
import type { BenchStore } from './open-bench-store.ts'

/** Reads every range's feed from the beginning to the end, as parsed changes. Returns how many. */
export async function scanFeed(
  { orders }: Pick<BenchStore, 'orders'>,
  {
    pageSize,
    until = Infinity,
  }: { readonly pageSize: number; readonly until?: number | undefined },
): Promise<number> {
  let documents = 0
  for (const range of await orders.readFeedRanges()) {
    let { continuation } = await orders.resolveStart({ range, start: { kind: 'beginning' } })
    for (let caughtUp = false; !caughtUp && machineMs() < until;) {
      const page = await orders.readPage({ range, continuation, maxItemCount: pageSize })
      documents += page.changes.length
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
    let { continuation } = await orders.resolveStart({ range, start: { kind: 'beginning' } })
    for (let caughtUp = false; !caughtUp;) {
      const page = await orders.readPageText({ range, continuation, maxItemCount: pageSize })
      documents += page.bodies.length
      continuation = page.continuation
      caughtUp = page.caughtUp
    }
  }
  return documents
}
