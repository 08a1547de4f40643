import type { CodedError } from '../errors/coded-error.ts'
import type { PartitionKey } from '../partition-key/partition-key.ts'
import type { Lsn } from '../ranges/lsn.ts'
import type { DocumentBody, Stored } from './document.ts'
import type { EtagConditions } from './document-collection.ts'
import type { PatchOperation } from './patch.ts'

/** One write of a bulk. Other than in a batch, each has its own partition key value, and is for itself. */
export type BulkOperation<T extends DocumentBody = DocumentBody> =
  | {
      readonly kind: 'create'
      readonly document: T
      /** As of `WriteOptions`. */
      readonly partitionKey?: PartitionKey | undefined
    }
  | ({
      readonly kind: 'upsert' | 'replace'
      readonly document: T
      /** As of `WriteOptions`. */
      readonly partitionKey?: PartitionKey | undefined
    } & EtagConditions)
  | ({
      readonly kind: 'patch'
      readonly id: string
      readonly partitionKey: PartitionKey
      readonly operations: readonly PatchOperation[]
      /** As of `PatchOptions`. */
      readonly condition?: ((document: Stored<T>) => boolean) | undefined
    } & EtagConditions)
  | ({
      readonly kind: 'delete'
      readonly id: string
      readonly partitionKey: PartitionKey
    } & EtagConditions)

/** What became of one write of a bulk. */
export type BulkOutcome<T extends DocumentBody = DocumentBody> =
  | {
      readonly kind: 'written'
      readonly operation: BulkOperation<T>
      readonly lsn: Lsn
      readonly etag: string
      /** True if there was no live document with this id before. */
      readonly created: boolean
    }
  | { readonly kind: 'deleted'; readonly operation: BulkOperation<T>; readonly lsn: Lsn }
  /**
   * `error` is what the same write alone would have rejected with. If a patch's `condition` throws, it is ERR_INVALID_PATCH with
   * what was thrown as its cause.
   */
  | { readonly kind: 'failed'; readonly operation: BulkOperation<T>; readonly error: CodedError }
