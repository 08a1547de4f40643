import { CodedError } from './coded-error.ts'

export interface GroupOfOtherFeed {
  readonly group: string
  /** What the group follows. Its name is unknown where only the positions of leases tell it. */
  readonly follows: { readonly rid: string; readonly name?: string | undefined }
  /** The feed that a host, or an operator, came with. */
  readonly feed: { readonly rid: string; readonly name: string }
}

/**
 * The group follows another feed: another collection, or one of this name that was dropped since. The message names both.
 * Positions in one feed say nothing of another: going on from them would skip changes, or never read any.
 *
 * @remedy Give each feed a group of its own. To move the group to this feed on purpose, stop its hosts and run
 * `tidemark leases reset`, or start its hosts with a new token in `discardExistingLeases`.
 */
export class GroupOfOtherFeedError extends CodedError {
  override readonly name = 'GroupOfOtherFeedError'
  readonly code = 'ERR_GROUP_OF_OTHER_FEED'
  readonly retryable = false
  readonly group: string
  readonly follows: GroupOfOtherFeed['follows']
  readonly feed: GroupOfOtherFeed['feed']

  constructor({ group, follows, feed }: GroupOfOtherFeed) {
    super(
      `group ${JSON.stringify(group)} follows ${nameOfOther({ follows, feed })}, not ${feed.name} (${feed.rid}): ` +
        `give each feed a group of its own. To move the group to ${feed.name} on purpose, stop its hosts and run ` +
        `"tidemark leases reset --group ${group}", or start them with a new token in hostOptions.discardExistingLeases`,
    )
    this.group = group
    this.follows = follows
    this.feed = feed
  }
}

function nameOfOther({ follows: { rid, name }, feed }: Omit<GroupOfOtherFeed, 'group'>): string {
  if (name === undefined) return `another collection (${rid}), perhaps one that was dropped`
  if (name !== feed.name) return `${name} (${rid})`
  return `an earlier ${name} (${rid}), which was dropped, or is in another store`
}
