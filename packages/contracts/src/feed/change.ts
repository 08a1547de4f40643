import type { DocumentBody, Stored } from '../documents/document.ts'
import type { PartitionKey } from '../partition-key/partition-key.ts'
import type { Lsn } from '../ranges/lsn.ts'

/** A document that was created or updated, in its newest version (CF-2). */
export interface DocumentChange<T extends DocumentBody = DocumentBody> {
  readonly kind: 'document'
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  /** When it was committed, epoch ms; exact to the second. */
  readonly committedAtMs: number
  /** Parsed when it is first looked at, and then kept. Throws ERR_STORE_DAMAGED when its text is no document. */
  readonly document: Stored<T>
  /**
   * The document's JSON text as its writer gave it, without system properties. From stores; not in copies of the
   * change.
   */
  readonly text?: string | undefined
  /** Epoch ms at which the document will expire, if a time to live is in force. */
  readonly expiresAtMs?: number
}

/** A document that expired and will be purged; its last version is still there (TTL-13). */
export interface PendingDeleteChange<T extends DocumentBody = DocumentBody> {
  readonly kind: 'pendingDelete'
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  /** When the pending delete was committed, epoch ms; exact to the second. */
  readonly committedAtMs: number
  /** As `document` of other changes. */
  readonly lastVersion: Stored<T>
  readonly text?: string | undefined
  /** Epoch ms of the expiry. */
  readonly expiredAtMs: number
}

/** One entry of all-versions-and-deletes mode (CF-11). */
export interface VersionChange<T extends DocumentBody = DocumentBody> {
  readonly kind: 'version'
  readonly id: string
  readonly partitionKey: PartitionKey
  readonly lsn: Lsn
  readonly operationType: 'create' | 'replace' | 'delete'
  /** Commit time, epoch ms. */
  readonly crts: number
  /** As `document` of other changes. */
  readonly current?: Stored<T>
  /** Of `current`. */
  readonly text?: string | undefined
  readonly previous?: Stored<T>
  readonly timeToLiveExpired: boolean
}

/** What a feed delivers. Branch on `kind`. */
export type Change<T extends DocumentBody = DocumentBody> =
  | DocumentChange<T>
  | PendingDeleteChange<T>
  | VersionChange<T>
