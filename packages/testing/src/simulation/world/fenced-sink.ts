import { FencedWriteError, rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { ObserverLife } from './world-events.ts'
import type { SimulatedChange } from './simulated-feed.ts'

/**
 * A store outside that observers write to, and that refuses stale owners (decision 0022): a write is refused if an
 * overlapping interval holds a higher epoch; an older LSN of a key changes nothing.
 */
export class FencedSink {
  #fences: readonly { readonly range: FeedRange; readonly epoch: number }[] = []
  /** Of each key the newest change. */
  readonly values: Map<string, number> = new Map()
  /** Refused writes. */
  refusals = 0

  /** @throws ERR_FENCED when a newer owner has written */
  write({ range, epoch, leaseId }: ObserverLife, changes: readonly SimulatedChange[]): void {
    const overlapping = this.#fences.filter((fence) => rangesOverlap(fence.range, range))
    const newest = Math.max(0, ...overlapping.map((fence) => fence.epoch))
    if (newest > epoch) {
      this.refusals += 1
      throw new FencedWriteError(leaseId, epoch, newest)
    }
    if (newest < epoch || !overlapping.some((fence) => rangeContains(fence.range, range))) {
      const others = this.#fences.filter((fence) => !rangeContains(range, fence.range))
      this.#fences = [...others, { range, epoch }]
    }
    for (const { key, n } of changes) {
      if (n > (this.values.get(key) ?? 0)) this.values.set(key, n)
    }
  }
}
