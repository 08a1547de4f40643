import type {
  DocumentBody,
  Lsn,
  PartitionKey,
  PendingDeleteChange,
  Stored,
} from '@tidemark/contracts'
import type { SinkEntry } from '../sync/sink-entry.ts'

/** A document as a sink gets it. */
export interface ArchivedDocument<T extends DocumentBody = DocumentBody> {
  /** `_rid` of the collection that it was in. */
  readonly collectionRid: string
  readonly id: string
  readonly partitionKey: PartitionKey
  /**
   * Of its expiry, or of the version that was chosen. With collection, partition key and id it names
   * one archived version, however often that comes.
   */
  readonly lsn: Lsn
  readonly reason: 'expired' | 'chosen'
  /** Epoch ms; of expired documents. */
  readonly expiredAtMs?: number
  /** Its last version. */
  readonly document: Stored<T>
}

/** What an expired document is archived as. */
export function expiredDocument<T extends DocumentBody>(
  collectionRid: string,
  { id, partitionKey, lsn, expiredAtMs, lastVersion }: PendingDeleteChange<T>,
): ArchivedDocument<T> {
  return {
    collectionRid,
    id,
    partitionKey,
    lsn,
    reason: 'expired',
    expiredAtMs,
    document: lastVersion,
  }
}

/** What a line of an archive holds: an archived document, or a change that `syncTo` wrote. */
export type ArchiveLine<T extends DocumentBody = DocumentBody> = ArchivedDocument<T> | SinkEntry<T>

/** One text a line; the same one when it comes again. */
export function archiveKey(line: ArchiveLine): string {
  if ('key' in line) return line.key
  const { collectionRid, lsn, document } = line
  // `_rid` stands for partition key and id. It is a hash of them, so that the id goes with it.
  return `${collectionRid} ${lsn} ${document._rid} ${document.id}`
}
