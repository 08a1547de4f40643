import {
  decodeContinuation,
  errorCode,
  type Change,
  type ChangeFeedSource,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
} from '@tidemark/contracts'
import { changeKeyText } from '@tidemark/contracts/internal'
import { sha256 } from './platform/sha256.ts'

/** The feed that changes come from. */
export interface FeedOfChanges {
  /** `ChangeFeedSource.identity`: of a collection, store id and `_rid`. */
  readonly identity: string
  /** For people. */
  readonly description: string
  /** Of the store's history: another one after commits may have been lost. */
  readonly epoch: number
}

/** A feed as it was at one moment. */
export interface FoundFeed extends FeedOfChanges {
  /** Of the newest change there was. */
  readonly lsn: number
}

/** What a change says: a version or a pending delete; of the log of all versions, what was done. */
export type ChangeKind = 'document' | 'pendingDelete' | 'create' | 'replace' | 'delete' | 'expire'

export function changeKind(change: Change): ChangeKind {
  if (change.kind !== 'version') return change.kind
  return change.timeToLiveExpired ? 'expire' : change.operationType
}

/** 64 hexadecimal digits that follow from (feed, epoch, partition key, id, LSN, kind): the same when a change comes again. */
export function changeId(feed: FeedOfChanges, change: Change): string {
  const { id, lsn } = change
  const tuple = [feed.identity, feed.epoch, changeKeyText(change), id, lsn, changeKind(change)]
  return sha256(JSON.stringify(tuple))
}

/**
 * The feed as a reader of this range finds it now. Its epoch never falls for a key, also over splits and merges. Epoch and
 * LSN are 0 of feeds whose continuations are not those of a store.
 */
export async function feedAsFound<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  request: {
    readonly range: FeedRange
    readonly mode?: FeedMode | undefined
    readonly signal: AbortSignal
  },
): Promise<FoundFeed> {
  const { continuation } = await feed.resolveStart({ ...request, start: 'now' })
  const { identity, description } = feed
  return { identity, description, ...newestOf(continuation) }
}

/** The epoch in which a page was read that ends there. */
export function epochOf(continuation: string): number {
  return newestOf(continuation).epoch
}

function newestOf(continuation: string): Pick<FoundFeed, 'epoch' | 'lsn'> {
  try {
    const { positions } = decodeContinuation(continuation)
    return { epoch: positions[0]?.epoch ?? 0, lsn: Math.max(0, ...positions.map(({ lsn }) => lsn)) }
  } catch (error) {
    if (errorCode(error) !== 'ERR_INVALID_CONTINUATION') throw error
    return { epoch: 0, lsn: 0 }
  }
}
