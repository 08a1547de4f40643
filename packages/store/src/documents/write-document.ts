import {
  ResourceNotFoundError,
  lsn,
  type DeleteResult,
  type DocumentBody,
  type EtagConditions,
  type Lsn,
  type PartitionKey,
  type RequestOptions,
  type WriteOptions,
} from '@tidemark/contracts'
import { documentEtag, type DocumentVersion } from '@tidemark/contracts/internal'
import { checkedDocumentId } from '../catalog/resource-names.ts'
import type { CollectionRecord } from '../engine/catalog.ts'
import type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  WriteCondition,
} from '../engine/commit.ts'
import { WriteConflictError } from '../errors/write-conflict-error.ts'
import { invalidTtl, type EncodedDocument, type EncodedPartitionKey } from './document-encoder.ts'
import { lazily } from './lazily.ts'
import { readRow, type OpenCollection, type TextWriteResult } from './open-collection.ts'
import { notUnique } from './unique-entries.ts'
import { conditionFailure, engineCondition, refusal } from './write-conditions.ts'

/** Each lost race means that another writer won, so this many in a row are not just bad luck. */
export const MAX_WRITE_ATTEMPTS = 100

export type Committed = Extract<CommitOutcome, { kind: 'committed' }>
export type Refused = Extract<CommitOutcome, { kind: 'refused' }>

/** A document's id and key, checked. */
export function addressOf(
  { encoder }: OpenCollection,
  id: string,
  partitionKey: PartitionKey,
): { readonly id: string; readonly key: EncodedPartitionKey } {
  return { id: checkedDocumentId(id), key: encoder.encodeKey(partitionKey) }
}

/** A document, encoded. A key that is given must be its own. */
export function encodedDocument(
  { encoder }: OpenCollection,
  document: DocumentBody,
  partitionKey: PartitionKey | undefined,
): EncodedDocument {
  return encoder.encode(
    document,
    partitionKey === undefined ? undefined : encoder.encodeKey(partitionKey),
  )
}

/** Creates, upserts or replaces one document. */
export async function writeDocument<T extends DocumentBody>(
  open: OpenCollection,
  kind: 'create' | 'upsert' | 'replace',
  { document, options }: { readonly document: T; readonly options: WriteOptions },
): Promise<TextWriteResult<T>> {
  const encoded = encodedDocument(open, document, options.partitionKey)
  return writeEncoded(open, kind, { encoded, options })
}

/** As `writeDocument`, for a document that was encoded. */
export async function writeEncoded<T extends DocumentBody>(
  open: OpenCollection,
  kind: 'create' | 'upsert' | 'replace',
  {
    encoded,
    options,
  }: { readonly encoded: EncodedDocument; readonly options: EtagConditions & RequestOptions },
): Promise<TextWriteResult<T>> {
  const { id, partitionKey: key } = encoded
  const outcome = await commitConditioned(open, { kind, id, key, encoded }, options)
  return writeResult(open, encoded, outcome)
}

export async function deleteDocument(
  open: OpenCollection,
  target: { readonly id: string; readonly key: EncodedPartitionKey },
  options: WriteOptions,
): Promise<DeleteResult> {
  const outcome = await commitConditioned(open, { kind: 'delete', ...target }, options)
  return { lsn: batchLsn(outcome), serverTimeMs: outcome.timeMs }
}

async function commitConditioned(
  open: OpenCollection,
  target: WriteTarget & { readonly kind: 'create' | 'upsert' | 'replace' | 'delete' },
  options: EtagConditions & RequestOptions,
): Promise<Committed> {
  const { kind, id, key } = target
  const { signal } = options
  signal?.throwIfAborted()
  const condition = engineCondition(kind, options, open.record.number)
  if (condition !== undefined) {
    const outcome = await commitOne(open, target, condition)
    if (outcome.kind === 'committed') return outcome
    throw refusal(kind, id, open.record, outcome.presentLsn)
  }
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    signal?.throwIfAborted()
    const row = await readRow(open, key, id)
    const etag = row && documentEtag(open.record.number, row.lsn)
    const failure = conditionFailure(kind, id, options, etag)
    if (failure !== undefined) throw failure
    const same: WriteCondition = row ? { kind: 'lsn', lsn: row.lsn } : { kind: 'absent' }
    const outcome = await commitOne(open, target, same)
    if (outcome.kind === 'committed') return outcome
  }
  throw new WriteConflictError(id, MAX_WRITE_ATTEMPTS)
}

export interface WriteTarget {
  readonly id: string
  readonly key: EncodedPartitionKey
  /** Undefined for a delete. */
  readonly encoded?: EncodedDocument | undefined
}

/** Commits one put or delete. Throws as `judged` does. */
export async function commitOne(
  { engine, record }: OpenCollection,
  target: WriteTarget,
  condition: WriteCondition,
): Promise<Committed | Refused> {
  const batch = batchOf(record, target, condition)
  return judged(record, target, await engine.commit({ batches: [batch] }))
}

/** One put or delete. It is never too large for a commit: the encoder has checked its text. */
export function batchOf(
  { number: collection, definition }: CollectionRecord,
  { id, key, encoded }: WriteTarget,
  condition: WriteCondition,
): CommitBatch {
  const { epk, text: partitionKey } = key
  const operations = [
    encoded ? putOperation(encoded, condition) : ({ kind: 'delete', id, condition } as const),
  ]
  const uniqueSteps = definition.uniqueKeys && [{ id, entries: encoded?.uniqueEntries ?? [] }]
  return { collection, epk, partitionKey, operations, uniqueSteps }
}

/**
 * What became of one put or delete.
 *
 * @throws ERR_NOT_FOUND when the collection is gone, ERR_INVALID_DOCUMENT for a `ttl` that is none while the collection
 *   has TTL on (TTL-9), ERR_UNIQUE_KEY
 */
export function judged(
  record: CollectionRecord,
  { id, encoded }: WriteTarget,
  outcome: CommitOutcome,
): Committed | Refused {
  switch (outcome.kind) {
    case 'committed':
    case 'refused':
      return outcome
    case 'invalidTtl':
      throw invalidTtl(encoded)
    case 'notUnique':
      throw notUnique(record, id, outcome)
    default:
      // A commit without a fence cannot be fenced.
      throw new ResourceNotFoundError('collection', record.id)
  }
}

export function putOperation(
  { id, rid, body, ttl }: EncodedDocument,
  condition: WriteCondition,
): Extract<CommitOperation, { kind: 'put' }> {
  return { kind: 'put', id, condition, rid, body, ttl }
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
