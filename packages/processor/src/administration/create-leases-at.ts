import { FULL_RANGE, InvalidOptionError, feedRangeId, type NewLease } from '@tidemark/contracts'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'
import { followFeed } from '../bootstrapping/follow-feed.ts'
import { whileRangesChange } from '../bootstrapping/while-ranges-change.ts'
import { cutLease, type WantedPosition } from './cut-lease.ts'
import { feedModeOf } from './feed-mode-of.ts'
import type { MovedLease, MovePositionsOptions } from './move-positions.ts'

/**
 * Gives leases to a group that has none, one for each wanted range in each present range. `lost` when somebody else
 * was first.
 *
 * Rejects with ERR_INVALID_OPTION when a key would have no lease: it would never be read.
 */
export async function createLeasesAt(
  wanted: readonly WantedPosition[],
  { group, feed, mode, purpose }: MovePositionsOptions,
  signal: AbortSignal,
): Promise<readonly MovedLease[] | 'lost'> {
  const missing = keysNotIn(
    [FULL_RANGE],
    wanted.map(({ range }) => range),
  )
  if (missing.length > 0) {
    throw new InvalidOptionError(
      `group ${JSON.stringify(group.group)} has no leases, and there is no position for the keys ` +
        missing.map(feedRangeId).join(', '),
    )
  }
  const next = await whileRangesChange(async (): Promise<readonly NewLease[]> => {
    const present = await feed.readFeedRanges({ signal })
    const parts = cutLease(FULL_RANGE, wanted, present) ?? []
    return Promise.all(
      parts.map(async ({ range, wanted: position }): Promise<NewLease> => {
        const start = position?.start ?? 'beginning'
        const texts =
          typeof start === 'object' && 'continuation' in start ? [start.continuation] : []
        const request = { range, start, mode: mode ?? feedModeOf(texts), signal }
        return { range, checkpoint: await feed.resolveStart(request) }
      }),
    )
  })
  const moves = next.map(({ range, checkpoint }) => {
    return { leaseId: feedRangeId(range), range, fromLsn: undefined, toLsn: checkpoint.lsn }
  })
  if (purpose === 'preview') return moves
  await followFeed(await group.read(signal), { feed, group }, signal)
  const created = await group.create(next, signal)
  const own = new Map(next.map(({ range, checkpoint }) => [feedRangeId(range), checkpoint]))
  const isOurs = created.every(
    ({ id, checkpoint }) => own.get(id)?.continuation === checkpoint.continuation,
  )
  if (!isOurs || created.length !== own.size) return 'lost'
  await feed.positions?.report(
    moves.map(({ range, toLsn }) => ({ group: group.group, range, lsn: toLsn })),
  )
  return moves
}
