import type {
  CollectionDefinition,
  CollectionRecord,
  CommitOperation,
  CommitOutcome,
  WriteFence,
} from '@tidemark/store'
import type { FeedRange } from '@tidemark/contracts'
import type { PortableError } from '../connection/sqlite-error.ts'

/** A batch as it crosses to the writer's thread: the collection's number is enough there. */
export interface WireBatch {
  readonly collection: number
  readonly epk: string
  readonly partitionKey: string
  readonly operations: readonly CommitOperation[]
}

/** What the writer is asked to do. */
export type WriterTask =
  | {
      readonly kind: 'commit'
      readonly batches: readonly WireBatch[]
      readonly fence: WriteFence | undefined
    }
  | {
      readonly kind: 'createCollection'
      readonly collectionId: string
      readonly databaseRid: string
      readonly definition: CollectionDefinition
      readonly ranges: readonly FeedRange[]
    }
  | { readonly kind: 'deleteCollection'; readonly collectionId: string }
  /** Marks the whole database as deleted, for the other processes that have it open. */
  | { readonly kind: 'drop' }

export interface WriterRequest {
  readonly id: number
  /** The caller's wall clock, epoch ms: time comes with the request, so that tests inject it. */
  readonly nowMs: number
  readonly task: WriterTask
}

/** A pkrange that a commit moved on. */
export interface TouchedRange {
  readonly collection: number
  readonly range: number
  readonly lsn: number
}

export type WriterResult =
  | {
      readonly kind: 'committed'
      readonly outcome: CommitOutcome
      readonly touched: readonly TouchedRange[]
    }
  | { readonly kind: 'created'; readonly record: CollectionRecord }
  | { readonly kind: 'exists' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'done' }
  | { readonly kind: 'databaseGone' }
  | { readonly kind: 'failed'; readonly error: PortableError }

export interface WriterReply {
  readonly id: number
  readonly result: WriterResult
}

/** Caller to writer. */
export type ToWriter =
  | { readonly kind: 'requests'; readonly requests: readonly WriterRequest[] }
  | { readonly kind: 'close' }

/** Writer to caller. */
export type FromWriter =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'replies'
      /** Commits that succeeded, as `packReply` writes them. */
      readonly committed: readonly number[]
      readonly others: readonly WriterReply[]
    }
  | { readonly kind: 'closed' }
  | { readonly kind: 'broken'; readonly error: PortableError }

export interface WriterSettings {
  readonly file: string
  readonly durability: 'sync' | 'relaxed'
  readonly segmentSlots: number
  /** How long a group waits for other processes' writers. */
  readonly lockTimeoutMs: number
  readonly maxGroupOperations: number
}

/** What the thread starts with. `bell` is woken for each message: waiting on it is faster than the event loop. */
export interface WriterThreadData {
  readonly settings: WriterSettings
  readonly bell: Int32Array
}
