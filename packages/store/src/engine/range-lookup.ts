import {
  RangeGoneError,
  feedRangeId,
  rangeContains,
  rangesOverlap,
  type FeedRange,
} from '@tidemark/contracts'
import type { ScanPosition } from './document-query.ts'

/**
 * The range that holds `epk`. `ranges` cover every key, in EPK order. A binary search, because every write calls this.
 */
export function rangeOfEpk<R extends FeedRange>(ranges: readonly R[], epk: string): R {
  let low = 0
  let high = ranges.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range !== undefined && range.maxExclusive <= epk) low = middle + 1
    else high = middle
  }
  const found = ranges[low]
  if (found === undefined) throw new RangeGoneError(epk, [])
  return found
}

/**
 * The range that contains all of `wanted`.
 *
 * @throws ERR_RANGE_GONE naming the ranges that cover it now, when it is not inside one of them
 */
export function rangeHolding<R extends FeedRange>(ranges: readonly R[], wanted: FeedRange): R {
  const found = ranges.find((range) => rangeContains(range, wanted))
  if (found !== undefined) return found
  const successors = ranges
    .filter((range) => rangesOverlap(range, wanted))
    .map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
  throw new RangeGoneError(feedRangeId(wanted), successors)
}

/**
 * The present range with this number.
 *
 * @throws ERR_RANGE_GONE naming the ranges that came of it, when it was split or merged away
 */
export function rangeNumbered<
  R extends FeedRange & { readonly number: number; readonly parents: readonly number[] },
>(ranges: readonly R[], number: number): R {
  const found = ranges.find((range) => range.number === number)
  if (found !== undefined) return found
  const successors = ranges
    .filter(({ parents }) => parents.includes(number))
    .map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
  throw new RangeGoneError(String(number), successors)
}

/**
 * Where to scan a range from to go on after a position that was reached in a wider one: from its start when that did not
 * come so far.
 */
export function positionWithin(
  { minInclusive }: FeedRange,
  after: ScanPosition | undefined,
): ScanPosition | undefined {
  return after !== undefined && after.epk < minInclusive ? undefined : after
}

/** The smallest range that holds exactly one EPK. */
export function singleEpkRange(epk: string): FeedRange {
  return { minInclusive: epk, maxExclusive: `${epk}00` }
}
