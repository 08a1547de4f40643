import type { FeedRange } from '@tidemark/contracts'
import type { CommitSends, NotSent } from '../messages/commit-sends.ts'
import type { MessageTime } from '../messages/message-time.ts'

/**
 * A condition on the present live document, judged inside the write transaction. A document that has expired by the
 * commit's time counts as absent. A put over it first writes its pending delete, at an LSN of its own (TTL-16).
 */
export type WriteCondition =
  | { readonly kind: 'none' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'present' }
  /** Present, and last written at this LSN. */
  | { readonly kind: 'lsn'; readonly lsn: number }
  /** Absent, or last written at another LSN. */
  | { readonly kind: 'notLsn'; readonly lsn: number }

export type CommitOperation =
  | {
      readonly kind: 'put'
      readonly id: string
      readonly condition: WriteCondition
      /** As of `DocumentVersion`. */
      readonly rid: string
      readonly body: string
      /**
       * The document's own time to live in seconds, -1 = never, 0 = none. `invalid`: refused while the collection has
       * TTL on, else treated as none (TTL-9).
       */
      readonly ttl: number | 'invalid'
      /**
       * Epoch second at which the document is to expire; replaces `ttl`. The commit computes `ttl` from it, at least 1,
       * and keeps it beside the text, which then has none (JB-2).
       */
      readonly expirySecond?: number | undefined
    }
  | { readonly kind: 'delete'; readonly id: string; readonly condition: WriteCondition }
  /** Only judges the condition. */
  | { readonly kind: 'check'; readonly id: string; readonly condition: WriteCondition }

/** The unique key entries of documents, from one point of a batch on. */
export interface UniqueStep {
  readonly id: string
  /**
   * One entry for each unique key, in their order. These replace the document's previous entries. Two documents of one
   * partition key value have the same entry only if they have the same values at the key's paths. None = the document
   * is deleted.
   */
  readonly entries: readonly string[]
}

/** Operations on one partition key value, in order; each id at most once. */
export interface CommitBatch {
  /** Its number. */
  readonly collection: number
  readonly epk: string
  /** Canonical text of the partition key value. */
  readonly partitionKey: string
  readonly operations: readonly CommitOperation[]
  /**
   * Only for a collection with unique keys. One step for each time that the batch, as its caller sees it, writes or
   * deletes a document, in order. At least one for each put and delete among the operations. Judged after all
   * conditions.
   */
  readonly uniqueSteps?: readonly UniqueStep[] | undefined
}

/**
 * Refuses stale workers. The commit fails when an overlapping range of the job has a higher epoch; otherwise the store
 * records this epoch for the range.
 */
export interface WriteFence {
  readonly job: string
  readonly range: FeedRange
  readonly epoch: number
}

/**
 * At most 10,000 operations and messages, and 64 MiB of text and messages, or slightly more than one document where
 * documents can be larger.
 */
export interface CommitRequest {
  readonly batches: readonly CommitBatch[]
  readonly fence?: WriteFence | undefined
  /** Judged after the documents, and sent in the same transaction. */
  readonly sends?: CommitSends | undefined
  /**
   * `false`: resolves when the commit is visible, before it is on disk (`CommitOptions.sync`). Shares a transaction with
   * others where it can, and is synced with them. A commit with a fence or messages is synced in any case. @default true
   */
  readonly sync?: boolean | undefined
}

/** The step of a commit that gives a document an entry that another document has. */
export interface UniqueBreach {
  readonly batchIndex: number
  /** Index in the batch's `uniqueSteps`. */
  readonly stepIndex: number
  /** Index in the collection's unique keys. */
  readonly keyIndex: number
}

export interface CommittedBatch {
  readonly lsn: number
  /** One entry for each operation: whether there was a live document before. */
  readonly existed: readonly boolean[]
}

export type CommitOutcome =
  | {
      readonly kind: 'committed'
      readonly batches: readonly CommittedBatch[]
      /** The store's clock at the commit, epoch ms; `_ts` is its whole seconds. */
      readonly timeMs: number
      /** When the commit's messages were sent. */
      readonly sentAt?: MessageTime | undefined
    }
  | {
      readonly kind: 'refused'
      readonly batchIndex: number
      readonly operationIndex: number
      /** LSN of the present live document; undefined if there is none. */
      readonly presentLsn: number | undefined
    }
  | { readonly kind: 'fenced'; readonly currentEpoch: number }
  /** `ttl` of this operation is invalid, and the collection has TTL on. Nothing was written. */
  | { readonly kind: 'invalidTtl'; readonly batchIndex: number; readonly operationIndex: number }
  /** Another live document of the partition key value has the entry. All conditions hold; nothing was written. */
  | ({ readonly kind: 'notUnique' } & UniqueBreach)
  | { readonly kind: 'collectionGone'; readonly batchIndex: number }
  /** The documents could be written, but a message could not be sent. Nothing was done. */
  | NotSent
