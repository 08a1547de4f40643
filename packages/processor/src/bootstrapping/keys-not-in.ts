import type { FeedRange } from '@tidemark/contracts'

/** The keys of `ranges` that none of `covering` has, in EPK order. */
export function keysNotIn(
  ranges: readonly FeedRange[],
  covering: readonly FeedRange[],
): readonly FeedRange[] {
  const sorted = [...covering].sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
  return [...ranges]
    .sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
    .flatMap((range) => gapsOf(range, sorted))
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
  }
  if (minInclusive < maxExclusive) gaps.push({ minInclusive, maxExclusive })
  return gaps
}
