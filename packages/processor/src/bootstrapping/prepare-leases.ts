import {
  FULL_RANGE,
  InvalidOptionError,
  LeasesVanishedError,
  feedRangeId,
  parseFeedRangeId,
  rangeContains,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
  type LeaseGroup,
  type NewLease,
  type SourceRange,
  type StartPosition,
} from '@tidemark/contracts'
import { claimFeed, refuseOtherFeed } from './follow-feed.ts'
import type { LeaseMirror } from './lease-mirror.ts'
import { loseDamagedLeases } from './lose-damaged-leases.ts'
import type { PreparedLeases } from './prepared-leases.ts'
import { recoverLeases } from './recover-leases.ts'
import { whileRangesChange } from './while-ranges-change.ts'

export interface PrepareLeasesOptions<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly group: LeaseGroup
  /** Undefined where nothing is known of a group but its leases. */
  readonly mirror: LeaseMirror | undefined
  readonly start: StartPosition
  readonly mode: FeedMode
  /** Only this range. */
  readonly partitionKeyRangeId: string | undefined
  /** Leases that are made for each range. */
  readonly leasesPerRange: number
  readonly discardToken: string | undefined
  /** See `recoverLeases`. */
  readonly mayCreateIn: string | undefined
  /** See `loseDamagedLeases`. */
  readonly nextGeneration: string | undefined
}

/**
 * Sees to it that the group has leases: those that it has, else `leasesPerRange` for each range, with their start
 * positions resolved now and stored with them. So whatever is written after this is not missed, by
 * whichever host, whatever crashes before the first checkpoint. The mirror has a position for each key
 * of them then. May be repeated.
 *
 * A group without leases of which the mirror has positions is no new one: it has lost them, and never
 * starts over; see `recoverLeases`. Except when leases are discarded with a token that is new.
 *
 * Nor does a group of which the lease store knows that it had some, where nobody knows how far they had come.
 *
 * Rejects with ERR_GROUP_OF_OTHER_FEED when the group follows another feed, with ERR_INVALID_CONTINUATION when a given
 * start continuation does not fit, with ERR_INVALID_OPTION when `partitionKeyRangeId` is unknown or the group works on
 * other ranges, and with ERR_LEASES_VANISHED when lost leases cannot be created again.
 */
export function prepareLeases<T extends DocumentBody>(
  options: PrepareLeasesOptions<T>,
  signal: AbortSignal,
): Promise<PreparedLeases> {
  return whileRangesChange(() => prepareOnce(options, signal))
}

async function prepareOnce<T extends DocumentBody>(
  options: PrepareLeasesOptions<T>,
  signal: AbortSignal,
): Promise<PreparedLeases> {
  const { feed, group, mirror, start, partitionKeyRangeId, discardToken } = options
  // Before the leases: what is told is stored by then.
  const told = (await mirror?.read()) ?? []
  const isDiscarded = discardToken !== undefined && (await mirror?.knowsDiscard(discardToken))
  const newToken = isDiscarded === true ? undefined : discardToken
  if (newToken !== undefined) await group.discard(newToken, signal)
  const snapshot = await group.read(signal)
  const { leases, generation } = snapshot
  const own = await refuseOtherFeed(snapshot, { feed, group: group.group }, signal)
  const isLost = leases.length === 0 && told.length > 0 && newToken === undefined
  if (snapshot.isEmptied === true && !isLost) throw emptied(group.group, feed)
  // Checked even where stored leases win: a wrong continuation is a mistake either way.
  const isNeeded = leases.length === 0 || (typeof start === 'object' && 'continuation' in start)
  const present =
    isNeeded || partitionKeyRangeId !== undefined
      ? selectRanges(await feed.readFeedRanges({ signal }), partitionKeyRangeId, feed)
      : []
  if (partitionKeyRangeId !== undefined) refuseOthers(leases, present, partitionKeyRangeId)
  const keys = partitionKeyRangeId === undefined ? [FULL_RANGE] : present
  if (isLost && mirror !== undefined) {
    const stood = told.map(({ range }) => ({ id: feedRangeId(range) }))
    if (partitionKeyRangeId !== undefined) refuseOthers(stood, present, partitionKeyRangeId)
    return recoverLeases({ ...options, mirror, keys, unreported: [] }, signal)
  }
  const lost = leases.length > 0 && (await loseDamagedLeases(leases, { ...options, keys }, signal))
  if (lost) return lost
  const next = isNeeded ? await startingLeases(present, options, signal) : []
  // A start that is refused leaves no claim behind.
  const followed = await claimFeed(snapshot, { own, group }, signal)
  const areNew = leases.length === 0
  const prepared = areNew ? await group.create(next, signal) : leases
  if (partitionKeyRangeId !== undefined) refuseOthers(prepared, present, partitionKeyRangeId)
  const flush = async (): Promise<void> => group.flush?.(signal)
  await mirror?.cover(prepared, { told, areNew, discardToken: newToken, flush })
  const origin = areNew ? 'started' : 'found'
  return { kind: 'ready', generation, leases: prepared, feed: followed, origin }
}

function emptied<T extends DocumentBody>(group: string, feed: ChangeFeedSource<T>): Error {
  return new LeasesVanishedError(
    `group ${JSON.stringify(group)} had leases, which were deleted or written over, and ${feed.description} does not ` +
      'know where it stood; refusing to start from "now". "tidemark leases restore", "seek" and "reset" say where it goes on',
  )
}

/** As many for each range as it is to have. Rejects with ERR_INVALID_CONTINUATION when the start does not fit. */
async function startingLeases<T extends DocumentBody>(
  ranges: readonly FeedRange[],
  { feed, start, mode, mirror, leasesPerRange: count }: PrepareLeasesOptions<T>,
  signal: AbortSignal,
): Promise<readonly NewLease[]> {
  const epochOf = await mirror?.readEpochs()
  const parts = await Promise.all(
    ranges.map(async (range) => {
      return count === 1
        ? [range]
        : ((await feed.divideRange?.({ range, count, signal })) ?? [range])
    }),
  )
  return Promise.all(
    parts.flat().map(async (range): Promise<NewLease> => {
      const checkpoint = await feed.resolveStart({ range, start, mode, signal })
      return { range: plainRange(range), checkpoint, epoch: epochOf?.(range) }
    }),
  )
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
  const other = leases.find(({ id }) => {
    const lease = parseFeedRangeId(id)
    return lease === undefined || !ranges.some((range) => rangeContains(range, lease))
  })
  if (other === undefined) return
  throw new InvalidOptionError(
    `partitionKeyRangeId ${JSON.stringify(partitionKeyRangeId)} needs a group of its own: this one has leases of other ranges (${other.id})`,
  )
}

/** Sources may return more than the interval. */
function plainRange({ minInclusive, maxExclusive }: FeedRange): FeedRange {
  return { minInclusive, maxExclusive }
}
