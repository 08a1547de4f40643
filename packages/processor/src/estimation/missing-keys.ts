import {
  lsn,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedRange,
  type GroupPosition,
  type Lease,
} from '@tidemark/contracts'
import { byKeys, keysNotIn } from '../lease-stores/keys-not-in.ts'

/** Keys that a group works on and no lease has, and where the group stood there as its feed knows; 0 if it does not. */
export type MissingKeys = Pick<GroupPosition, 'range' | 'lsn'>

/**
 * What of a group nobody works on, because somebody deleted its leases or wrote something else over them. In EPK order.
 * What the group works on is what its feed has positions for; where a feed keeps none, or is not known, only the keys
 * between two leases are missed. Of a group without leases nothing is.
 */
export async function missingKeys<T extends DocumentBody>(
  group: string,
  leases: readonly Lease[],
  feed: Pick<ChangeFeedSource<T>, 'positions'> | undefined,
): Promise<readonly MissingKeys[]> {
  if (leases.length === 0) return []
  const ranges = leases.map(({ range }) => range)
  const told = (await feed?.positions?.read(group)) ?? []
  const known = told.flatMap((position) =>
    keysNotIn([position.range], ranges).map((range) => ({ range, lsn: position.lsn })),
  )
  const toldOf = told.map(({ range }) => range)
  const unknown = keysNotIn([spanOf(ranges)], [...ranges, ...toldOf]).map((range) => {
    return { range, lsn: lsn(0) }
  })
  return [...known, ...unknown].sort((a, b) => byKeys(a.range, b.range))
}

function spanOf(ranges: readonly FeedRange[]): FeedRange {
  const ends = ranges.map(({ maxExclusive }) => maxExclusive).sort()
  const starts = ranges.map(({ minInclusive }) => minInclusive).sort()
  return { minInclusive: starts[0] ?? '', maxExclusive: ends.at(-1) ?? 'FF' }
}
