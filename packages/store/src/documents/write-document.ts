import {
  ResourceNotFoundError,
  documentEtag,
  lsn,
  type DeleteResult,
  type DocumentBody,
  type DocumentVersion,
  type Lsn,
  type WriteOptions,
} from '@tidemark/contracts'
import type { CommitOperation, CommitOutcome, WriteCondition } from '../engine/commit.ts'
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

/** Creates, upserts or replaces one document. */
export async function writeDocument<T extends DocumentBody>(
  open: OpenCollection,
  kind: 'create' | 'upsert' | 'replace',
  { encoded, options }: { readonly encoded: EncodedDocument; readonly options: WriteOptions },
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
  options: WriteOptions,
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

interface WriteTarget {
  readonly id: string
  readonly key: EncodedPartitionKey
  /** Undefined for a delete. */
  readonly encoded?: EncodedDocument | undefined
}

/**
 * Commits one put or delete. It is never too large for a commit: the encoder has checked its text.
 *
 * @throws ERR_NOT_FOUND when the collection is gone, ERR_INVALID_DOCUMENT for a `ttl` that is none while the collection
 *   has TTL on (TTL-9), ERR_UNIQUE_KEY
 */
export async function commitOne(
  { engine, record }: OpenCollection,
  { id, key, encoded }: WriteTarget,
  condition: WriteCondition,
): Promise<Committed | Refused> {
  const { number: collection, definition } = record
  const { epk, text: partitionKey } = key
  const operations = [
    encoded ? putOperation(encoded, condition) : ({ kind: 'delete', id, condition } as const),
  ]
  const uniqueSteps = definition.uniqueKeys && [{ id, entries: encoded?.uniqueEntries ?? [] }]
  const batch = { collection, epk, partitionKey, operations, uniqueSteps }
  const outcome = await engine.commit({ batches: [batch] })
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
