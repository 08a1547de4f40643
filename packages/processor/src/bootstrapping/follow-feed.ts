import {
  GroupOfOtherFeedError,
  type ChangeFeedSource,
  type DocumentBody,
  type GroupFeed,
  type GroupOfOtherFeed,
  type LeaseGroup,
  type LeaseGroupSnapshot,
} from '@tidemark/contracts'
import { ridOfPosition } from '../lease-stores/rid-of-position.ts'

type Followed = Pick<LeaseGroupSnapshot, 'feed' | 'leases'>

/**
 * Sees to it that the group follows this feed, and is noted as doing so: before anything of its leases is used or told
 * to the feed. Resolves with what is noted; undefined where the feed has no `_rid`, or the store keeps none.
 *
 * Rejects with ERR_GROUP_OF_OTHER_FEED, and the feed's ERR_NOT_FOUND.
 */
export async function followFeed<T extends DocumentBody>(
  snapshot: Followed,
  { feed, group }: { readonly feed: ChangeFeedSource<T>; readonly group: LeaseGroup },
  signal: AbortSignal | undefined,
): Promise<GroupFeed | undefined> {
  const own = await refuseOtherFeed(snapshot, { feed, group: group.group }, signal)
  return claimFeed(snapshot, { own, group }, signal)
}

/** The second half of `followFeed`: after everything that may refuse the feed that a new group is to follow. */
export async function claimFeed(
  snapshot: Followed,
  { own, group }: { readonly own: GroupFeed | undefined; readonly group: LeaseGroup },
  signal: AbortSignal | undefined,
): Promise<GroupFeed | undefined> {
  if (own === undefined || snapshot.feed !== undefined) return own
  const noted = await group.claimFeed?.(own, { signal })
  if (noted === undefined || noted.rid === own.rid) return noted
  throw new GroupOfOtherFeedError({ group: group.group, follows: noted, feed: own })
}

/** Rejects with ERR_GROUP_OF_OTHER_FEED, and the feed's ERR_NOT_FOUND. Resolves with this feed; undefined without a `_rid`. */
export async function refuseOtherFeed<T extends DocumentBody>(
  snapshot: Followed,
  { feed, group }: { readonly feed: ChangeFeedSource<T>; readonly group: string },
  signal: AbortSignal | undefined,
): Promise<GroupFeed | undefined> {
  const own = await groupFeedOf(feed, signal)
  if (own === undefined) return undefined
  const follows = otherFeedOf(snapshot, own.rid)
  if (follows !== undefined) throw new GroupOfOtherFeedError({ group, follows, feed: own })
  return own
}

export async function groupFeedOf<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  signal: AbortSignal | undefined,
): Promise<GroupFeed | undefined> {
  const rid = await feed.readRid?.({ signal })
  return rid === undefined ? undefined : { rid, name: feed.description }
}

/** What the group follows that is not the feed of this `_rid`. Leases of an older release tell it by their positions. */
export function otherFeedOf(
  { feed: noted, leases }: Followed,
  rid: string,
): GroupOfOtherFeed['follows'] | undefined {
  if (noted !== undefined && noted.rid !== rid) return noted
  const other = leases
    .map(({ checkpoint }) => ridOfPosition(checkpoint.continuation))
    .find((of) => of !== undefined && of !== rid)
  return other === undefined ? undefined : { rid: other }
}
