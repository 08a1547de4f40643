import type { Presence } from '../presence.ts'
import type { FeedRange } from '../ranges/feed-range.ts'
import type { Lsn } from '../ranges/lsn.ts'
import type { PartitionKey } from '../partition-key/partition-key.ts'
import type { DocumentBody, Stored } from './document.ts'
import type { PatchOperation } from './patch.ts'

/** What every request takes. */
export interface RequestOptions {
  /** Ends the call: it rejects with the signal's reason. @default none */
  readonly signal?: AbortSignal | undefined
}

export interface CommitOptions extends RequestOptions {
  /**
   * `false`: the batch is visible at once, and on disk with the next synced commit of its database, at the latest after
   * 200 ms; `flush` tells when. Readers that wait in other processes may find it some ms later than others. The end of a
   * process loses nothing; when the machine or the server ends first, the last such batches are lost, and the database
   * begins an epoch, so that none of their etags comes back. Where each commit is synced anyway, or none can be, it changes
   * nothing. @default true
   */
  readonly sync?: boolean | undefined
}

export interface ReadOptions extends RequestOptions {
  /** If the document has this etag, the result has no document (`notModified: true`). @default none */
  readonly ifNoneMatch?: string | undefined
}

/** Conditions of a write on the existing document (else ERR_PRECONDITION_FAILED). */
export interface EtagConditions {
  /** The write happens only if the current etag is this one; `*` = only if the document exists. @default none */
  readonly ifMatch?: string | undefined
  /** `*` = only if the document does not exist; an etag = only if the current one differs. @default none */
  readonly ifNoneMatch?: string | undefined
}

export interface WriteOptions extends RequestOptions, EtagConditions {
  /** Checked against the value inside the document (ERR_PARTITION_KEY_MISMATCH). @default that value */
  readonly partitionKey?: PartitionKey | undefined
}

export interface PatchOptions<T extends DocumentBody> extends WriteOptions {
  /**
   * The patch happens only if this returns true for the current version (else ERR_PRECONDITION_FAILED).
   * @default none
   */
  readonly condition?: ((document: Stored<T>) => boolean) | undefined
}

export interface ReadResult<T extends DocumentBody> {
  /** Undefined when there is no such document, or when it was not modified. */
  readonly document: Stored<T> | undefined
  readonly notModified: boolean
  /** The store's clock at the read, epoch ms. */
  readonly serverTimeMs: number
}

export interface WriteResult<T extends DocumentBody> {
  readonly document: Stored<T>
  readonly etag: string
  readonly lsn: Lsn
  /** True if there was no live document with this id before. */
  readonly created: boolean
  /** The store's clock in the commit, epoch ms. */
  readonly serverTimeMs: number
}

/** Where the delete stands in the feed, and the store's clock at its commit. */
export interface DeleteResult {
  readonly lsn: Lsn
  readonly serverTimeMs: number
}

/** One operation of a transactional batch (ST-4); all have the same partition key value. */
export type BatchOperation<T extends DocumentBody = DocumentBody> =
  | { readonly kind: 'create'; readonly document: T }
  | ({ readonly kind: 'upsert' | 'replace'; readonly document: T } & EtagConditions)
  | ({
      readonly kind: 'patch'
      readonly id: string
      readonly operations: readonly PatchOperation[]
      readonly condition?: ((document: Stored<T>) => boolean) | undefined
    } & EtagConditions)
  | ({ readonly kind: 'read' | 'delete'; readonly id: string } & EtagConditions)

export interface BatchResult<T extends DocumentBody> {
  /** Shared by all documents of the batch (ST-5); undefined when it only read. */
  readonly lsn: Lsn | undefined
  /** One entry per operation: the document as written or read; undefined for a delete. */
  readonly documents: readonly (Stored<T> | undefined)[]
  readonly serverTimeMs: number
}

/**
 * A collection of documents, local or remote. `DocumentLeaseStore` and jobs use only this interface, so that they do
 * not depend on a particular store.
 *
 * Every method rejects with a `CodedError`; a rejected write left nothing behind, except that
 * `ERR_STORE_UNAVAILABLE` from a remote store leaves its outcome unknown.
 */
export interface DocumentCollection<T extends DocumentBody = DocumentBody> {
  /** The collection's own id (name). */
  readonly id: string
  /** Stable, unique identity (store id and `_rid`); two handles of one collection have equal ones. */
  readonly identity: string
  /** 1 to 3 paths, each with a leading slash. */
  readonly partitionKeyPaths: readonly string[]
  /**
   * By how much the real time can be later than `serverTimeMs`, if responses have a coarser time than ms. Known after
   * the first call. @default 0
   */
  readonly serverTimeErrorMs?: number | undefined

  // Writes of all kinds reject with ERR_UNIQUE_KEY where the collection has unique keys and another document the values.

  read(id: string, partitionKey: PartitionKey, options?: ReadOptions): Promise<ReadResult<T>>
  /** Rejects with ERR_EXISTS if there is a live document with this id. */
  create(document: T, options?: WriteOptions): Promise<WriteResult<T>>
  upsert(document: T, options?: WriteOptions): Promise<WriteResult<T>>
  /** Rejects with ERR_NOT_FOUND if there is none. */
  replace(document: T, options?: WriteOptions): Promise<WriteResult<T>>
  patch(
    id: string,
    partitionKey: PartitionKey,
    operations: readonly PatchOperation[],
    options?: PatchOptions<T>,
  ): Promise<WriteResult<T>>
  /** Rejects with ERR_NOT_FOUND if there is none. */
  delete(id: string, partitionKey: PartitionKey, options?: WriteOptions): Promise<DeleteResult>
  /** All or nothing; rejects with ERR_BATCH_FAILED naming the operation, or with ERR_COMMIT_TOO_LARGE. */
  batch(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation<T>[],
    options?: CommitOptions,
  ): Promise<BatchResult<T>>
  /**
   * Resolves when every batch that was acknowledged before the call is on disk. Absent where each is at once. Over HTTP it
   * speaks for the server that answers: if its machine ended meanwhile, another one does not know what that had acknowledged.
   * So read what must be there afterwards.
   */
  flush?(options?: RequestOptions): Promise<void>
  /** Every live document of one partition key value, by id, in one snapshot. For small partitions. */
  readPartition(
    partitionKey: PartitionKey,
    options?: RequestOptions,
  ): Promise<{ readonly documents: readonly Stored<T>[]; readonly serverTimeMs: number }>
  /**
   * Optional wake-up: resolves to true soon after a commit that may concern `partitionKey` and has an LSN above
   * `afterLsn`, to false after `timeoutMs`. A hint; correctness never depends on it.
   */
  waitForCommit?(request: {
    readonly partitionKey: PartitionKey
    readonly afterLsn: Lsn
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean>
  /**
   * Optional: creates the collection if it does not exist; many callers at once are safe. Does not change an existing
   * one.
   */
  createIfNotExists?(options: { readonly partitionKey: string } & RequestOptions): Promise<void>
  /** Optional: how processes that have this collection on one machine know of each other's death. */
  readonly presence?: Presence | undefined
  /** The intervals of the current pkranges, in EPK order. */
  readFeedRanges(options?: RequestOptions): Promise<readonly FeedRange[]>
}
