import {
  LeasesVanishedError,
  commonKeys,
  feedRangeId,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedMode,
  type FeedPosition,
  type GroupPosition,
  type NewLease,
  type StartPosition,
} from '@tidemark/contracts'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'
import { followFeed } from './follow-feed.ts'
import type { LeaseMirror } from './lease-mirror.ts'
import { loseDamagedLeases, type DamagedLeasesOptions } from './lose-damaged-leases.ts'
import type { PreparedLeases } from './prepared-leases.ts'
import { whileRangesChange } from './while-ranges-change.ts'

export interface RecoverLeasesOptions<T extends DocumentBody> extends DamagedLeasesOptions<T> {
  readonly mirror: LeaseMirror
  readonly start: StartPosition
  readonly mode: FeedMode
  /** Stored positions that the mirror may not have yet. */
  readonly unreported: readonly GroupPosition[]
  /**
   * Leases may be made as long as the store's data is this: whoever owned one in the data before has
   * stopped by now.
   */
  readonly mayCreateIn: string | undefined
}

/** Whether leases can be made from the positions that the feed keeps of a group. */
export function canRecover<T extends DocumentBody>(feed: ChangeFeedSource<T>): boolean {
  const { positions, supports } = feed
  // Positions are cut to the ranges of now: a child has to carry what its parent had not delivered.
  const canCut = supports.childrenCarryParentChanges
  return positions !== undefined && feed.positionAt !== undefined && canCut
}

/**
 * Makes the leases of a group that has lost them, at the positions that the feed keeps: all that was stored
 * and told. Never above, so that nothing is skipped; what was stored and not told comes again. May be
 * repeated; of several hosts that do it the first wins, and the others find its leases.
 *
 * Rejects with ERR_LEASES_VANISHED, and makes no lease, when the positions do not cover all keys.
 */
export function recoverLeases<T extends DocumentBody>(
  options: RecoverLeasesOptions<T>,
  signal: AbortSignal,
): Promise<PreparedLeases> {
  return whileRangesChange(() => recoverOnce(options, signal))
}

async function recoverOnce<T extends DocumentBody>(
  options: RecoverLeasesOptions<T>,
  signal: AbortSignal,
): Promise<PreparedLeases> {
  const { group, mirror, mayCreateIn, unreported } = options
  const snapshot = await group.read(signal)
  const { leases, generation } = snapshot
  const followed = await followFeed(snapshot, options, signal)
  if (leases.length > 0) {
    const lost = await loseDamagedLeases(leases, options, signal)
    return lost ?? { kind: 'ready', generation, leases, feed: followed, origin: 'found' }
  }
  if (generation !== mayCreateIn) return { kind: 'lost', generation }
  if (unreported.length > 0) await mirror.report(unreported)
  const epochOf = await mirror.readEpochs()
  const places = await leasesOf(await mirror.read(), options, signal)
  const next = places.map((place) => ({ ...place, epoch: epochOf(place.range) }))
  const created = await group.create(next, signal)
  return { kind: 'ready', generation, leases: created, feed: followed, origin: 'recovered' }
}

/** One lease for each part of the keys that has one position and lies in one present range. */
async function leasesOf<T extends DocumentBody>(
  told: readonly GroupPosition[],
  { feed, group, keys, start, mode }: RecoverLeasesOptions<T>,
  signal: AbortSignal,
): Promise<readonly NewLease[]> {
  const missing = keysNotIn(
    keys,
    told.map(({ range }) => range),
  )
  if (missing.length > 0) {
    throw new LeasesVanishedError(
      `the lease store lost the leases of group ${group.group}, and ${feed.description} has no position of it ` +
        `for the keys ${missing.map(feedRangeId).join(', ')}; refusing to start from "now"`,
    )
  }
  const present = await feed.readFeedRanges({ signal })
  const parts = told.flatMap(({ range, lsn }) =>
    present
      .flatMap((other) => commonKeys(other, range) ?? [])
      .flatMap((part) => keys.flatMap((wanted) => commonKeys(part, wanted) ?? []))
      .map((part) => ({ range: part, lsn })),
  )
  return Promise.all(
    parts.map(async (part): Promise<NewLease> => {
      const checkpoint = await positionOf(part, { feed, start, mode, signal })
      return { range: part.range, checkpoint }
    }),
  )
}

async function positionOf<T extends DocumentBody>(
  { range, lsn }: Pick<GroupPosition, 'range' | 'lsn'>,
  {
    feed,
    start,
    mode,
    signal,
  }: Pick<RecoverLeasesOptions<T>, 'feed' | 'start' | 'mode'> & { readonly signal: AbortSignal },
): Promise<FeedPosition> {
  // Nothing was delivered yet, so that no purge can have taken anything from this group.
  if (lsn === 0 && start === 'beginning') {
    return feed.resolveStart({ range, start, mode, signal })
  }
  const position = await feed.positionAt?.({ range, lsn, mode, signal })
  if (position !== undefined) return position
  throw new LeasesVanishedError(`${feed.description} cannot make positions from LSNs`)
}
