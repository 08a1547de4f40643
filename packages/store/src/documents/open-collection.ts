import type { DocumentBody, WriteResult } from '@tidemark/contracts'
import type { DocumentStamp, DocumentVersion } from '@tidemark/contracts/internal'
import type { CollectionRecord } from '../engine/catalog.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import type { ReadingTurns } from '../paging/reading-turns.ts'
import type { DocumentEncoder, EncodedPartitionKey } from './document-encoder.ts'

/** A collection whose record was read. All its operations use this. */
export interface OpenCollection {
  readonly engine: DatabaseEngine
  readonly record: CollectionRecord
  readonly encoder: DocumentEncoder
  readonly stamp: DocumentStamp
  /** Shared by everything that reads pages through one handle. */
  readonly turns: ReadingTurns
}

/** The answer to a write in process. It includes the stored text, for callers that only forward it. */
export interface TextWriteResult<T extends DocumentBody> extends WriteResult<T> {
  /** The document as JSON text, system properties included. */
  readonly text: string
}

export function readRow(
  { engine, record }: OpenCollection,
  { epk, text }: EncodedPartitionKey,
  id: string,
): Promise<DocumentVersion | undefined> {
  return engine.readDocument({ collection: record, epk, partitionKey: text, id })
}
