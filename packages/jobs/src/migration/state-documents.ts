import type { DocumentBody } from '@tidemark/contracts'
import type { DocumentKey } from './document-key.ts'

/*
 * What a migration remembers, in a collection of the target's database, so that it is written in the
 * same commit as the copies themselves. Its partition key is `/partition`.
 */

/** Where a source document's copy is, and of which version. One a source document. */
export interface SourceEntry extends DocumentBody {
  readonly partition: string
  /** LSN of the source version that was applied. An older or equal one is a replay. */
  readonly lsn: number
  /** Null when `mapDocument` left the document out. */
  readonly target: DocumentKey | null
  /** True while another document has the target key: this one has no copy then. */
  readonly waiting: boolean
  /** The copy expires by itself, so that another document may have the target key since. */
  readonly expires?: true
  /**
   * The copy was removed, because another document has its values of a unique key in the source by now. Another one may
   * have the target key since.
   */
  readonly parked?: true
  /**
   * It was deleted in the source: an older version that is still on its way must not bring it back.
   */
  readonly deleted?: true
}

/** Source documents that wait for a target key that another one has. One a key, while there are any. */
export interface WaitersEntry extends DocumentBody {
  readonly partition: string
  /** In order of arrival. */
  readonly sources: readonly DocumentKey[]
}

/** Exact over crashes and replays. */
export interface MigrationCounts {
  /** Source documents applied for the first time. */
  readonly documents: number
  /** Later versions of documents that had been applied before. */
  readonly updates: number
  /** Updates that moved a copy to another target key. */
  readonly moves: number
  /** Documents that `mapDocument` left out, at their first version or since a later one. */
  readonly dropped: number
  /** Documents that had been applied and have expired in the source since. Their copies are gone. */
  readonly expired: number
  /** Documents that had been applied and were deleted in the source since. Their copies are gone. */
  readonly deleted: number
  /** Documents whose target key another document had when they came. */
  readonly collisions: number
  /** Of those, how many have got their key since, or no longer want it. */
  readonly collisionsResolved: number
  /** Times that a range's work was taken up by another owner. */
  readonly takeovers: number
}

export const NO_COUNTS: MigrationCounts = {
  documents: 0,
  updates: 0,
  moves: 0,
  dropped: 0,
  expired: 0,
  deleted: 0,
  collisions: 0,
  collisionsResolved: 0,
  takeovers: 0,
}

export function addCounts(a: MigrationCounts, b: MigrationCounts): MigrationCounts {
  return {
    documents: a.documents + b.documents,
    updates: a.updates + b.updates,
    moves: a.moves + b.moves,
    dropped: a.dropped + b.dropped,
    // Counters that an earlier version wrote lack these.
    expired: (a.expired ?? 0) + (b.expired ?? 0),
    deleted: (a.deleted ?? 0) + (b.deleted ?? 0),
    collisions: a.collisions + b.collisions,
    collisionsResolved: a.collisionsResolved + b.collisionsResolved,
    takeovers: a.takeovers + b.takeovers,
  }
}

/** Entries lie together as their source documents do, so that a page writes few partitions. */
export function sourceEntryKey(source: DocumentKey): { partition: string; id: string } {
  return { partition: `s${source.partitionKey}`, id: source.id }
}

/** Undefined of what is no entry of a source document. */
export function sourceOfEntry({
  partition,
  id,
}: Pick<SourceEntry, 'partition' | 'id'>): DocumentKey | undefined {
  return partition.startsWith('s') ? { partitionKey: partition.slice(1), id } : undefined
}

export function waitersEntryKey(target: DocumentKey): { partition: string; id: string } {
  return { partition: `t${target.partitionKey}`, id: target.id }
}
