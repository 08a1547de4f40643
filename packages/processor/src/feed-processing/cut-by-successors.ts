import { commonKeys, feedRangeId, type FeedRange } from '@tidemark/contracts'

/** More pieces than this in one step make the replacement of a lease large; each of them is cut again. */
const MAX_PIECES = 32

/**
 * The parts of a lease's range that lie in one present range each, in EPK order (LE-10): what comes in
 * the place of the lease when its pkrange was split or merged. One part, the range itself, when there
 * is nothing to cut. Undefined when the successors do not cover it.
 *
 * A range that was split many times is cut into 32 parts at most, of several present ranges each: whoever
 * reads such a part is told so, and cuts again.
 */
export function cutBySuccessors(
  range: FeedRange,
  successors: readonly FeedRange[],
): readonly FeedRange[] | undefined {
  const parts = successors
    .map((successor) => commonKeys(range, successor))
    .filter((part) => part !== undefined)
    .sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
  const distinct = [...new Map(parts.map((part) => [feedRangeId(part), part])).values()]
  let covered = range.minInclusive
  for (const { minInclusive, maxExclusive } of distinct) {
    if (minInclusive !== covered) return undefined
    covered = maxExclusive
  }
  return covered === range.maxExclusive ? atMost(MAX_PIECES, distinct) : undefined
}

/** Neighbours put together until there are no more than `count`. */
function atMost(count: number, parts: readonly FeedRange[]): readonly FeedRange[] {
  const size = Math.ceil(parts.length / count)
  if (size <= 1) return parts
  const pieces: FeedRange[] = []
  for (let first = 0; first < parts.length; first += size) {
    const { minInclusive } = parts[first]!
    const { maxExclusive } = parts[Math.min(first + size, parts.length) - 1]!
    pieces.push({ minInclusive, maxExclusive })
  }
  return pieces
}
