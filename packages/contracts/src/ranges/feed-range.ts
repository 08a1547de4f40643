/**
 * A half-open interval of effective partition keys, compared as upper-case hex text.
 * `''` to `'FF'` is every key. The unit that leases share out.
 */
export interface FeedRange {
  readonly minInclusive: string
  readonly maxExclusive: string
}

/** Every key of a collection. */
export const FULL_RANGE: FeedRange = { minInclusive: '', maxExclusive: 'FF' }

/** The stable text id of a range, `min-max`; also the id of its lease. */
export function feedRangeId(range: FeedRange): string {
  return `${range.minInclusive}-${range.maxExclusive}`
}

/** The range of an id made by `feedRangeId`; undefined if it is none. */
export function parseFeedRangeId(id: string): FeedRange | undefined {
  const match = /^((?:[0-9A-F]{2})*)-((?:[0-9A-F]{2})+)$/.exec(id)
  const [, minInclusive, maxExclusive] = match ?? []
  if (minInclusive === undefined || maxExclusive === undefined) return undefined
  return minInclusive < maxExclusive ? { minInclusive, maxExclusive } : undefined
}

/** Whether `outer` has every key of `inner`. */
export function rangeContains(outer: FeedRange, inner: FeedRange): boolean {
  return outer.minInclusive <= inner.minInclusive && inner.maxExclusive <= outer.maxExclusive
}

/** Whether the key is in the range. */
export function rangeContainsEpk(range: FeedRange, epk: string): boolean {
  return range.minInclusive <= epk && epk < range.maxExclusive
}

/** Whether the ranges have a key in common. */
export function rangesOverlap(a: FeedRange, b: FeedRange): boolean {
  return a.minInclusive < b.maxExclusive && b.minInclusive < a.maxExclusive
}

/** Whether both ranges have the same keys. */
export function rangesEqual(a: FeedRange, b: FeedRange): boolean {
  return a.minInclusive === b.minInclusive && a.maxExclusive === b.maxExclusive
}

/** The keys that both ranges have; undefined when there are none. */
export function commonKeys(a: FeedRange, b: FeedRange): FeedRange | undefined {
  const minInclusive = a.minInclusive > b.minInclusive ? a.minInclusive : b.minInclusive
  const maxExclusive = a.maxExclusive < b.maxExclusive ? a.maxExclusive : b.maxExclusive
  return minInclusive < maxExclusive ? { minInclusive, maxExclusive } : undefined
}
