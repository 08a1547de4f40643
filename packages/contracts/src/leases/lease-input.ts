import { InvalidOptionError } from '../errors/invalid-option-error.ts'
import { feedRangeId } from '../ranges/feed-range.ts'
import type { NewLease } from './lease.ts'

const MAX_ENCODED_GROUP = 200

/**
 * The name of a processor group as every lease store takes it: 1 character or more, none of them a
 * control character, at most 200 characters when percent-encoded, no `$` first (stores use such names).
 *
 * @throws ERR_INVALID_OPTION
 */
export function checkedGroupName(group: string): string {
  const bad =
    group === '' ||
    group.startsWith('$') ||
    // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
    /[\u0000-\u001f\u007f]/.test(group) ||
    !group.isWellFormed() ||
    encodeURIComponent(group).length > MAX_ENCODED_GROUP
  if (bad) {
    throw new InvalidOptionError(
      `a lease group's name has 1 to ${MAX_ENCODED_GROUP} characters (percent-encoded), no control ` +
        `characters and no "$" first, got ${JSON.stringify(group)}`,
    )
  }
  return group
}

/**
 * The leases to create, in order of id.
 *
 * @throws ERR_INVALID_OPTION when two of them share a key: two owners would read it at once
 */
export function checkedNewLeases(leases: readonly NewLease[]): readonly NewLease[] {
  const sorted = [...leases].sort((a, b) => (feedRangeId(a.range) < feedRangeId(b.range) ? -1 : 1))
  const byMin = [...leases].sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
  for (const [index, { range }] of byMin.entries()) {
    const next = byMin[index + 1]
    if (next !== undefined && next.range.minInclusive < range.maxExclusive) {
      throw new InvalidOptionError(
        `leases ${feedRangeId(range)} and ${feedRangeId(next.range)} overlap`,
      )
    }
  }
  return sorted
}
