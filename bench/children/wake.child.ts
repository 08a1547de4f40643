import type { FeedRange } from '@tidemark/contracts'
import { serveParent } from '../measuring/child-process.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { listenForRings } from '../raw/doorbell.ts'
import { openBenchStore, type BenchStore } from '../store/open-bench-store.ts'

export type WakeRequest =
  | { readonly kind: 'open'; readonly folder: string; readonly bell: string }
  | { readonly kind: 'waitForCommit' | 'waitForRing' }

export interface WakeReply {
  readonly wokenAtMs: number
}

let store: BenchStore | undefined
let onRing: () => void = () => {}

async function waitForCommit({ orders }: BenchStore): Promise<void> {
  const ranges = await orders.readFeedRanges()
  const ended = new AbortController()
  // Only one range gets the commit; which one is the hash's business.
  await Promise.any(ranges.map((range) => waitForRange(orders, range, ended.signal)))
  ended.abort()
}

async function waitForRange(
  orders: BenchStore['orders'],
  range: FeedRange,
  signal: AbortSignal,
): Promise<void> {
  const { continuation } = await orders.resolveStart({ range, start: { kind: 'now' } })
  const woken = await orders.waitForChanges({ range, continuation, timeoutMs: 5_000, signal })
  if (!woken) throw new Error('no commit within 5 s')
}

serveParent(async (request: WakeRequest): Promise<WakeReply> => {
  if (request.kind === 'open') {
    store = await openBenchStore(request.folder)
    await listenForRings(request.bell, () => onRing())
    return { wokenAtMs: 0 }
  }
  if (store === undefined) throw new Error('no store was opened')
  if (request.kind === 'waitForCommit') await waitForCommit(store)
  else await new Promise<void>((resolve) => (onRing = resolve))
  return { wokenAtMs: machineMs() }
})
