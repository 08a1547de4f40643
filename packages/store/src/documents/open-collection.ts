import {
  PreconditionFailedError,
  ResourceExistsError,
  ResourceNotFoundError,
  UniqueKeyError,
  documentEtag,
  lsn,
  type CodedError,
  type DocumentBody,
  type DocumentStamp,
  type DocumentVersion,
  type InvalidDocumentError,
  type Lsn,
  type WriteResult,
} from '@tidemark/contracts'
import type { CollectionRecord } from '../engine/catalog.ts'
import type { CommitBatch, CommitOperation, CommitOutcome } from '../engine/commit.ts'
import { assertCommitSize } from '../engine/commit-size.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import type { ReadingTurns } from '../paging/reading-turns.ts'
import {
  invalidTtl,
  type DocumentEncoder,
  type EncodedDocument,
  type EncodedPartitionKey,
} from './document-encoder.ts'
import { lazily } from './lazily.ts'
import { uniqueStep } from './unique-entries.ts'
import type { ConditionedKind } from './write-conditions.ts'

/** A collection whose record was read. All its operations use this. */
export interface OpenCollection {
  readonly engine: DatabaseEngine
  readonly record: CollectionRecord
  readonly encoder: DocumentEncoder
  readonly stamp: DocumentStamp
  /** Shared by everything that reads pages through one handle. */
  readonly turns: ReadingTurns
}

export type Committed = Extract<CommitOutcome, { kind: 'committed' }>
export type Refused = Extract<CommitOutcome, { kind: 'refused' }>
export type InvalidTtl = Extract<CommitOutcome, { kind: 'invalidTtl' }>
export type NotUnique = Extract<CommitOutcome, { kind: 'notUnique' }>

/**
 * Commits operations on one partition key value.
 *
 * @throws ERR_NOT_FOUND when the collection is gone, ERR_COMMIT_TOO_LARGE
 */
export async function commitBatch(
  { engine, record, encoder }: OpenCollection,
  { epk, text }: EncodedPartitionKey,
  { operations, uniqueSteps }: Pick<CommitBatch, 'operations' | 'uniqueSteps'>,
): Promise<Committed | Refused | InvalidTtl | NotUnique> {
  assertCommitSize([{ operations, uniqueSteps }], encoder.maxBytes)
  const outcome = await engine.commit({
    batches: [{ collection: record, epk, partitionKey: text, operations, uniqueSteps }],
  })
  switch (outcome.kind) {
    case 'committed':
    case 'refused':
    case 'invalidTtl':
    case 'notUnique':
      return outcome
    default:
      // A commit without a fence cannot be fenced.
      throw new ResourceNotFoundError('collection', record.id)
  }
}

/** One operation, and the unique key entries of the document that it puts. */
export interface SingleWrite {
  readonly operation: CommitOperation
  readonly uniqueEntries?: readonly string[] | undefined
}

/**
 * Commits one operation.
 *
 * @throws ERR_INVALID_DOCUMENT for a `ttl` that is none while the collection has TTL on (TTL-9), ERR_UNIQUE_KEY
 */
export async function commitOne(
  open: OpenCollection,
  key: EncodedPartitionKey,
  { operation, uniqueEntries }: SingleWrite,
): Promise<Committed | Refused> {
  const { id } = operation
  const { uniqueKeys } = open.record.definition
  const uniqueSteps = uniqueStep(uniqueKeys, id, uniqueEntries)
  const outcome = await commitBatch(open, key, { operations: [operation], uniqueSteps })
  if (outcome.kind === 'invalidTtl') throw refusedTtl(operation)
  if (outcome.kind === 'notUnique') throw notUnique(open.record, id, outcome)
  return outcome
}

/** The error of a write that would give a document a unique key entry that another document has. */
export function notUnique(
  { definition: { uniqueKeys = [] } }: CollectionRecord,
  id: string,
  { keyIndex }: Pick<NotUnique, 'keyIndex'>,
): UniqueKeyError {
  return new UniqueKeyError(id, uniqueKeys[keyIndex] ?? [])
}

/** The put of a document, as `commitOne` takes it. */
export function singlePut(
  encoded: EncodedDocument,
  condition: CommitOperation['condition'],
): SingleWrite {
  return {
    operation: putOperation(encoded, condition),
    uniqueEntries: encoded.uniqueEntries,
  }
}

/** The error of an operation whose `ttl` the engine refused. */
export function refusedTtl(operation: CommitOperation | undefined): InvalidDocumentError {
  const { id, body } = operation?.kind === 'put' ? operation : { id: '', body: '{}' }
  return invalidTtl({ id, body })
}

export function readRow(
  { engine, record }: OpenCollection,
  { epk, text }: EncodedPartitionKey,
  id: string,
): Promise<DocumentVersion | undefined> {
  return engine.readDocument({ collection: record, epk, partitionKey: text, id })
}

export function putOperation(
  { id, rid, body, ttl }: EncodedDocument,
  condition: CommitOperation['condition'],
): Extract<CommitOperation, { kind: 'put' }> {
  return { kind: 'put', id, condition, rid, body, ttl }
}

/** The error for an operation whose condition was refused. */
export function refusal(
  kind: ConditionedKind,
  id: string,
  { record }: OpenCollection,
  presentLsn: number | undefined,
): CodedError {
  if (kind === 'create') return new ResourceExistsError('document', id)
  if (presentLsn === undefined) {
    return kind === 'upsert'
      ? new PreconditionFailedError(id, 'it does not exist')
      : new ResourceNotFoundError('document', id)
  }
  return new PreconditionFailedError(id, `its etag is ${documentEtag(record.number, presentLsn)}`)
}

/** The answer to a write in process. It includes the stored text, for callers that only forward it. */
export interface TextWriteResult<T extends DocumentBody> extends WriteResult<T> {
  /** The document as JSON text, system properties included. */
  readonly text: string
}

/** The answer to a write of one document. It is assembled and decoded only on access. */
export function writeResult<T extends DocumentBody>(
  { record, stamp }: OpenCollection,
  encoded: EncodedDocument,
  outcome: Committed,
): TextWriteResult<T> {
  const committedLsn = batchLsn(outcome)
  const version = writtenVersion(encoded, outcome)
  const text = lazily(() => stamp.text(version))
  const document = lazily(() => stamp.document<T>(version))
  return {
    get document() {
      return document()
    },
    get text() {
      return text()
    },
    etag: documentEtag(record.number, committedLsn),
    lsn: committedLsn,
    created: outcome.batches[0]?.existed[0] === false,
    serverTimeMs: outcome.timeMs,
  }
}

export function batchLsn(outcome: Committed): Lsn {
  return lsn(outcome.batches[0]?.lsn ?? 0)
}

/** The version of a document that a commit made. */
export function writtenVersion(
  { rid, body }: EncodedDocument,
  outcome: Committed,
): DocumentVersion {
  return { lsn: batchLsn(outcome), ts: Math.floor(outcome.timeMs / 1000), rid, ttl: null, body }
}
