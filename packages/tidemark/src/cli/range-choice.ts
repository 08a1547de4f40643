import { InvalidArgumentError } from 'commander'
import {
  feedRangeId,
  InvalidOptionError,
  parseFeedRangeId,
  type FeedRange,
} from '@tidemark/contracts'
import type { FoundGroup } from './group-location.ts'

/** A range as given: by its keys, or by the id of a pkrange. */
export type NamedRange = FeedRange | { readonly pkRangeId: string }

/** Collects ranges for commander. */
export function namedRanges(
  text: string,
  before: readonly NamedRange[] = [],
): readonly NamedRange[] {
  if (/^\d+$/.test(text)) return [...before, { pkRangeId: text }]
  const range = parseFeedRangeId(text.toUpperCase())
  if (range === undefined) {
    throw new InvalidArgumentError(
      'It must be a range as "leases ls --json" prints it, min-max, or the id of a pkrange.',
    )
  }
  return [...before, range]
}

/**
 * The keys of the given ranges. Rejects with ERR_INVALID_OPTION when there is no such pkrange, or the collection is
 * unknown.
 */
export async function chosenRanges(
  { followed }: FoundGroup,
  named: readonly NamedRange[] | undefined,
): Promise<readonly FeedRange[] | undefined> {
  if (named === undefined) return undefined
  const present = followed === undefined ? [] : await followed.collection.readFeedRanges()
  return named.map((range): FeedRange => {
    if (!('pkRangeId' in range)) return range
    const found = present.find(({ id }) => id === range.pkRangeId)
    if (found === undefined) {
      const known = present.map((one) => `${one.id} (${feedRangeId(one)})`).join(', ')
      throw new InvalidOptionError(
        `the group's collection has no pkrange ${range.pkRangeId}; it has ${known || 'none that are known'}`,
      )
    }
    const { minInclusive, maxExclusive } = found
    return { minInclusive, maxExclusive }
  })
}
