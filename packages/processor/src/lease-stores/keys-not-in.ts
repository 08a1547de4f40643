import type { FeedRange } from '@tidemark/contracts'

/** The keys of `ranges` that none of `covering` has, in EPK order. */
export function keysNotIn(
  ranges: readonly FeedRange[],
  covering: readonly FeedRange[],
): readonly FeedRange[] {
  const sorted = [...covering].sort(byKeys)
  return [...ranges].sort(byKeys).flatMap((range) => gapsOf(range, sorted))
}

/** EPK order. */
export function byKeys(a: FeedRange, b: FeedRange): number {
  return a.minInclusive < b.minInclusive ? -1 : 1
}

function gapsOf(range: FeedRange, sorted: readonly FeedRange[]): readonly FeedRange[] {
  const gaps: FeedRange[] = []
  let { minInclusive } = range
  const { maxExclusive } = range
  for (const other of sorted) {
    if (other.maxExclusive <= minInclusive) continue
    if (other.minInclusive >= maxExclusive) break
    if (other.minInclusive > minInclusive) {
      gaps.push({ minInclusive, maxExclusive: other.minInclusive })
    }
    minInclusive = other.maxExclusive
    if (minInclusive >= maxExclusive) return gaps
  }
  gaps.push({ minInclusive, maxExclusive })
  return gaps
}
