import {
  LeasesVanishedError,
  feedRangeId,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedRange,
  type GroupPosition,
  type Lease,
  type LeaseGroup,
} from '@tidemark/contracts'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'
import { damageText, joinedRanges, leaseSetDamage } from '../lease-stores/lease-set-damage.ts'
import type { LeaseMirror } from './lease-mirror.ts'
import type { PreparedLeases } from './prepared-leases.ts'

export interface DamagedLeasesOptions<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly group: LeaseGroup
  /** Undefined where nothing is known of a group but its leases. */
  readonly mirror: LeaseMirror | undefined
  /** What the group works on. */
  readonly keys: readonly FeedRange[]
  /** Of the store's data once leases were declared lost. Undefined where lost leases are not to be created again. */
  readonly nextGeneration: string | undefined
}

/**
 * Leases of which some were deleted, or written over, are lost as a whole: those that are left tell the mirror where they
 * stand, and the set is declared lost, so that all are created again once nobody can work on one of before. Resolves with
 * undefined, and does nothing, when the set is whole.
 *
 * Rejects with ERR_LEASES_VANISHED, and leaves what is there, when they are not to be created again, or when nobody knows
 * where the missing ones stood.
 */
export async function loseDamagedLeases<T extends DocumentBody>(
  leases: readonly Lease[],
  { feed, group, mirror, keys, nextGeneration }: DamagedLeasesOptions<T>,
  signal: AbortSignal,
): Promise<PreparedLeases | undefined> {
  const ranges = leases.map(({ range }) => range)
  const damage = leaseSetDamage(ranges, keys)
  if (damage === undefined) return undefined
  const about = `leases of group ${group.group} were deleted or written over: ${damageText(damage)}`
  if (mirror === undefined || nextGeneration === undefined) {
    throw new LeasesVanishedError(
      `${about}. hostOptions.onLeaseStoreLoss 'recover' makes them anew where they stood, if the feed keeps positions`,
    )
  }
  const told = (await mirror.read()).map(({ range }) => range)
  const unknown = keysNotIn(damage.missing, told)
  if (unknown.length > 0) {
    throw new LeasesVanishedError(
      `${about}; ${feed.description} has no position of it for the keys ${unknown.map(feedRangeId).join(', ')}`,
    )
  }
  for (const positions of reportsOf(leases, damage.surplus.length > 0, group.group)) {
    await mirror.report(positions)
  }
  const loss = { keys: joinedRanges(keys), generation: nextGeneration }
  const isDeclared = await group.declareLost(loss, signal)
  const { generation } = await group.read(signal)
  return { kind: 'lost', generation, damage: isDeclared ? damage : undefined }
}

/** Where two leases have keys in common the lower position counts: it comes last, and by itself. */
function reportsOf(
  leases: readonly Lease[],
  overlap: boolean,
  group: string,
): readonly (readonly GroupPosition[])[] {
  const positions = leases
    .map(({ range: { minInclusive, maxExclusive }, checkpoint: { lsn } }) => {
      return { group, range: { minInclusive, maxExclusive }, lsn }
    })
    .sort((a, b) => b.lsn - a.lsn)
  return overlap ? positions.map((position) => [position]) : [positions]
}
