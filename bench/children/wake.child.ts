import type { FeedRange } from '@tidemark/contracts'
import { serveParent } from '../measuring/child-process.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { listenForRings } from '../raw/doorbell.ts'
import { openBenchStore, type BenchStore } from '../store/open-bench-store.ts'

export type WakeRequest =
  | { readonly kind: 'open'; readonly folder: string; readonly bell: string }
  /** Answered when the wait has begun. */
  | { readonly kind: 'beginCommit' | 'beginRing' }
  /** Answered when it is over. */
  | { readonly kind: 'end' }

export interface WakeReply {
  /** Machine clock of the wake-up; only for `end`. */
  readonly wokenAtMs: number
}

let store: BenchStore | undefined
let onRing: () => void = () => {}
let waiting: Promise<number> = Promise.resolve(0)

/** Resolves with a promise of the wake-up, once every range's position is known. */
async function beginCommit({ orders }: BenchStore): Promise<{ readonly woken: Promise<number> }> {
  const ended = new AbortController()
  const ranges = await orders.readFeedRanges()
  const starts = await Promise.all(
    ranges.map(async (range) => {
      const { continuation } = await orders.resolveStart({ range, start: 'now' })
      return { range, continuation }
    }),
  )
  // Only one range gets the commit; which one is the hash's business.
  const woken = Promise.any(
    starts.map((start) => waitForRange(orders, start, ended.signal)),
  ).finally(() => ended.abort())
  return { woken }
}

async function waitForRange(
  orders: BenchStore['orders'],
  start: { readonly range: FeedRange; readonly continuation: string },
  signal: AbortSignal,
): Promise<number> {
  const woken = await orders.waitForChanges({ ...start, timeoutMs: 5_000, signal })
  if (!woken) throw new Error('no commit within 5 s')
  return machineMs()
}

serveParent(async (request: WakeRequest): Promise<WakeReply> => {
  switch (request.kind) {
    case 'open':
      store = await openBenchStore(request.folder)
      await listenForRings(request.bell, () => onRing())
      return { wokenAtMs: 0 }
    case 'beginCommit': {
      if (store === undefined) throw new Error('no store was opened')
      const { woken } = await beginCommit(store)
      waiting = woken
      return { wokenAtMs: 0 }
    }
    case 'beginRing':
      waiting = new Promise((resolve) => {
        onRing = () => resolve(machineMs())
      })
      return { wokenAtMs: 0 }
    case 'end':
      return { wokenAtMs: await waiting }
  }
})
