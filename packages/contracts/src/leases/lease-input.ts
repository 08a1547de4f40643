import { InvalidOptionError } from '../errors/invalid-option-error.ts'
import { feedRangeId, parseFeedRangeId, type FeedRange } from '../ranges/feed-range.ts'
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

/** Old and new leases of one `replace` together: one transactional batch holds them in every store. */
export const REPLACE_LIMIT = 64

/**
 * The new leases of a `replace`, in order of id.
 *
 * @throws ERR_INVALID_OPTION when they do not cover exactly the keys of the old ones, each key once, or
 * are more than `REPLACE_LIMIT` together with them
 */
export function checkedReplacement(
  oldIds: readonly string[],
  next: readonly NewLease[],
): readonly NewLease[] {
  if (oldIds.length + next.length > REPLACE_LIMIT) {
    throw new InvalidOptionError(
      `at most ${REPLACE_LIMIT} leases, old and new, take part in one replacement, got ${oldIds.length} and ${next.length}`,
    )
  }
  const sorted = checkedNewLeases(next)
  const covered = coverage(oldIds.map(leaseRange))
  if (covered === '' || covered !== coverage(sorted.map(({ range }) => range))) {
    const ids = sorted.map(({ range }) => feedRangeId(range)).join(', ')
    throw new InvalidOptionError(
      `leases ${ids} do not cover exactly the keys of those that they replace (${oldIds.join(', ')})`,
    )
  }
  return sorted
}

/** @throws ERR_INVALID_OPTION when it is the id of no range */
function leaseRange(id: string): FeedRange {
  const range = parseFeedRangeId(id)
  if (range === undefined) throw new InvalidOptionError(`${JSON.stringify(id)} is no lease id`)
  return range
}

/** The keys of disjoint ranges as text, the same however they are cut; '' when two of them overlap. */
function coverage(ranges: readonly FeedRange[]): string {
  const runs: { minInclusive: string; maxExclusive: string }[] = []
  for (const { minInclusive, maxExclusive } of [...ranges].sort((a, b) =>
    a.minInclusive < b.minInclusive ? -1 : 1,
  )) {
    const last = runs.at(-1)
    if (last !== undefined && minInclusive < last.maxExclusive) return ''
    if (last?.maxExclusive === minInclusive) last.maxExclusive = maxExclusive
    else runs.push({ minInclusive, maxExclusive })
  }
  return runs.map(feedRangeId).join(' ')
}
