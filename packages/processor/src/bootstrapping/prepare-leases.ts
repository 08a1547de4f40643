import {
  InvalidOptionError,
  errorCode,
  feedRangeId,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
  type LeaseGroup,
  type NewLease,
  type SourceRange,
  type StartPosition,
} from '@tidemark/contracts'

export interface PrepareLeasesOptions<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly group: LeaseGroup
  readonly start: StartPosition
  readonly mode: FeedMode
  /** Only this range. */
  readonly partitionKeyRangeId: string | undefined
  readonly discardToken: string | undefined
}

/** Ranges that split or merge while their start positions are asked for are asked for anew. */
const MAX_ATTEMPTS = 10

/**
 * Sees to it that the group has leases: those that it has, else one for each range, with its start
 * position resolved now and stored with it. So whatever is written after this is not missed, by
 * whichever host, whatever crashes before the first checkpoint. May be repeated.
 *
 * Rejects with ERR_INVALID_CONTINUATION when a given start continuation does not fit, and with
 * ERR_INVALID_OPTION when `partitionKeyRangeId` is unknown or the group works on other ranges.
 */
export async function prepareLeases<T extends DocumentBody>(
  options: PrepareLeasesOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await prepareOnce(options, signal)
      return
    } catch (error) {
      if (errorCode(error) !== 'ERR_RANGE_GONE' || attempt >= MAX_ATTEMPTS) throw error
    }
  }
}

async function prepareOnce<T extends DocumentBody>(
  { feed, group, start, mode, partitionKeyRangeId, discardToken }: PrepareLeasesOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  if (discardToken !== undefined) await group.discard(discardToken, signal)
  const { leases } = await group.read(signal)
  // Checked even where stored leases win: a wrong continuation is a mistake either way.
  const isNeeded = leases.length === 0 || start.kind === 'continuation'
  if (!isNeeded && partitionKeyRangeId === undefined) return
  const ranges = selectRanges(await feed.readFeedRanges({ signal }), partitionKeyRangeId, feed)
  if (partitionKeyRangeId !== undefined) refuseOthers(leases, ranges, partitionKeyRangeId)
  if (!isNeeded) return
  const resolved = await Promise.all(
    ranges.map(async (range): Promise<NewLease> => {
      const checkpoint = await feed.resolveStart({ range, start, mode, signal })
      return { range: plainRange(range), checkpoint }
    }),
  )
  if (leases.length > 0) return
  const created = await group.create(resolved, signal)
  if (partitionKeyRangeId !== undefined) refuseOthers(created, ranges, partitionKeyRangeId)
}

/** @throws ERR_INVALID_OPTION when the feed has no such range */
function selectRanges<T extends DocumentBody>(
  ranges: readonly SourceRange[],
  partitionKeyRangeId: string | undefined,
  feed: ChangeFeedSource<T>,
): readonly SourceRange[] {
  if (partitionKeyRangeId === undefined) return ranges
  const selected = ranges.filter(
    (range) => range.id === partitionKeyRangeId || feedRangeId(range) === partitionKeyRangeId,
  )
  if (selected.length > 0) return selected
  const known = ranges.map((range) => range.id ?? feedRangeId(range)).join(', ')
  throw new InvalidOptionError(
    `partitionKeyRangeId ${JSON.stringify(partitionKeyRangeId)} is no range of ${feed.description}; it has ${known}`,
  )
}

/** A group shares its leases out over all its hosts: it cannot be all ranges for one and one for another. */
function refuseOthers(
  leases: readonly { readonly id: string }[],
  ranges: readonly FeedRange[],
  partitionKeyRangeId: string,
): void {
  const wanted = new Set(ranges.map(feedRangeId))
  const other = leases.find(({ id }) => !wanted.has(id))
  if (other === undefined) return
  throw new InvalidOptionError(
    `partitionKeyRangeId ${JSON.stringify(partitionKeyRangeId)} needs a group of its own: this one has leases of other ranges (${other.id})`,
  )
}

/** Sources may return more than the interval. */
function plainRange({ minInclusive, maxExclusive }: FeedRange): FeedRange {
  return { minInclusive, maxExclusive }
}
