import { feedRangeId, parseFeedRangeId, type FeedRange } from '@tidemark/contracts'
import { byKeys, keysNotIn } from './keys-not-in.ts'

/** What is wrong with a set of leases. One of the two has a range in it at least. */
export interface LeaseSetDamage {
  /** Keys of the group that no lease has: nobody works on them. In EPK order. */
  readonly missing: readonly FeedRange[]
  /** Keys that two leases have, or that are none of the group's. In EPK order. */
  readonly surplus: readonly FeedRange[]
}

/**
 * What is wrong with these leases of a group that works on `keys`; undefined when they cover them exactly once. Nothing
 * that hosts do leaves such a set, not for a moment: somebody else deleted a lease, or wrote over one.
 */
export function leaseSetDamage(
  leases: readonly FeedRange[],
  keys: readonly FeedRange[],
): LeaseSetDamage | undefined {
  const missing = keysNotIn(keys, leases)
  const surplus = [...keysNotIn(leases, keys), ...overlaps(leases)].sort(byKeys)
  return missing.length + surplus.length === 0 ? undefined : { missing, surplus }
}

/** What leases of these ids are of. */
export function rangesOf(leaseIds: Iterable<string>): readonly FeedRange[] {
  return [...leaseIds].flatMap((id) => parseFeedRangeId(id) ?? [])
}

/** For people. */
export function damageText({ missing, surplus }: LeaseSetDamage): string {
  const parts = [
    { text: 'no lease has the keys', ranges: missing },
    { text: 'too many leases have the keys', ranges: surplus },
  ]
  return parts
    .filter(({ ranges }) => ranges.length > 0)
    .map(({ text, ranges }) => `${text} ${ranges.map(feedRangeId).join(', ')}`)
    .join('; ')
}

/** The fewest ranges that have the same keys, in EPK order. */
export function joinedRanges(ranges: readonly FeedRange[]): readonly FeedRange[] {
  const joined: FeedRange[] = []
  for (const { minInclusive, maxExclusive } of [...ranges].sort(byKeys)) {
    const last = joined.at(-1)
    if (last === undefined || last.maxExclusive < minInclusive) {
      joined.push({ minInclusive, maxExclusive })
    } else if (last.maxExclusive < maxExclusive) {
      joined[joined.length - 1] = { minInclusive: last.minInclusive, maxExclusive }
    }
  }
  return joined
}

function overlaps(ranges: readonly FeedRange[]): readonly FeedRange[] {
  const found: FeedRange[] = []
  let end = ''
  for (const { minInclusive, maxExclusive } of [...ranges].sort(byKeys)) {
    if (minInclusive < end) {
      found.push({ minInclusive, maxExclusive: maxExclusive < end ? maxExclusive : end })
    }
    if (end < maxExclusive) end = maxExclusive
  }
  return found
}
