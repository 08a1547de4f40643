import { type Change, type DocumentBody, type PartitionKey, type Stored } from '@tidemark/contracts'
import { assertNever, changeKeyText } from '@tidemark/contracts/internal'
import {
  changeId,
  changeKind,
  type ChangeKind,
  type FeedOfChanges,
} from '../workers/change-identity.ts'

/** A change as a sink gets it. */
export interface SinkEntry<T extends DocumentBody = DocumentBody> {
  /**
   * Idempotency key: 64 hexadecimal digits that follow from (feed, epoch, partition key, id, LSN, kind), and so are the
   * same when the change comes again.
   */
  readonly key: string
  /** `put`: the document is now this. `delete`: it is deleted, or has expired. */
  readonly operation: 'put' | 'delete'
  readonly kind: ChangeKind
  /** `ChangeFeedSource.identity`: of a collection, store id and `_rid`. */
  readonly feed: string
  readonly partitionKey: PartitionKey
  /** Canonical JSON text of the partition key, such as `["EU"]`. With `id` it names the document. */
  readonly partitionKeyText: string
  readonly id: string
  /**
   * Of the store's history in which the change was read; 0 of other feeds. Of two versions of a document, the one with the
   * higher epoch is newer, and within an epoch the one with the higher LSN.
   */
  readonly epoch: number
  readonly lsn: number
  /** The version, with its system properties. Of a delete the last version, if the feed has it. */
  readonly document: Stored<T> | undefined
  /** Epoch ms at which the document will expire, if a time to live is in force. */
  readonly expiresAtMs?: number | undefined
}

export function sinkEntry<T extends DocumentBody>(
  feed: FeedOfChanges,
  change: Change<T>,
): SinkEntry<T> {
  const { partitionKey, id, lsn } = change
  let key: string | undefined
  return {
    // Sinks that order versions do not ask for it.
    get key() {
      key ??= changeId(feed, change)
      return key
    },
    kind: changeKind(change),
    feed: feed.identity,
    partitionKey,
    partitionKeyText: changeKeyText(change),
    id,
    epoch: feed.epoch,
    lsn,
    ...contentOf(change),
  }
}

function contentOf<T extends DocumentBody>(
  change: Change<T>,
): Pick<SinkEntry<T>, 'operation' | 'document' | 'expiresAtMs'> {
  switch (change.kind) {
    case 'document': {
      const { document, expiresAtMs } = change
      return { operation: 'put', document, ...(expiresAtMs === undefined ? {} : { expiresAtMs }) }
    }
    case 'pendingDelete':
      return { operation: 'delete', document: change.lastVersion }
    case 'version':
      return change.operationType === 'delete'
        ? { operation: 'delete', document: change.previous }
        : { operation: 'put', document: change.current }
    default:
      return assertNever(change)
  }
}

/** Of each document the newest entry of a batch, ordered by key: no batch then waits for another that waits for it. */
export function newestEntries<T extends DocumentBody>(
  batch: readonly SinkEntry<T>[],
): readonly SinkEntry<T>[] {
  const newest = new Map<string, SinkEntry<T>>()
  for (const entry of batch) {
    const name = JSON.stringify([entry.partitionKeyText, entry.id])
    const known = newest.get(name)
    if (known === undefined || !isNewer(known, entry)) newest.set(name, entry)
  }
  return [...newest].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}

function isNewer(a: SinkEntry, b: SinkEntry): boolean {
  return a.epoch === b.epoch ? a.lsn > b.lsn : a.epoch > b.epoch
}
