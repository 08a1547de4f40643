import {
  documentEtag,
  type DeleteResult,
  type DocumentBody,
  type WriteOptions,
} from '@tidemark/contracts'
import type { WriteCondition } from '../engine/commit.ts'
import { WriteConflictError } from '../errors/write-conflict-error.ts'
import type { EncodedDocument, EncodedPartitionKey } from './document-encoder.ts'
import {
  batchLsn,
  commitOne,
  readRow,
  refusal,
  singlePut,
  writeResult,
  type Committed,
  type OpenCollection,
  type SingleWrite,
  type TextWriteResult,
} from './open-collection.ts'
import { MAX_WRITE_ATTEMPTS } from './patch-document.ts'
import { conditionFailure, engineCondition } from './write-conditions.ts'

/** Creates, upserts or replaces one document. */
export async function writeDocument<T extends DocumentBody>(
  open: OpenCollection,
  kind: 'create' | 'upsert' | 'replace',
  { encoded, options }: { readonly encoded: EncodedDocument; readonly options: WriteOptions },
): Promise<TextWriteResult<T>> {
  const { id, partitionKey: key } = encoded
  const outcome = await commitConditioned(open, { kind, id, key }, options, (condition) =>
    singlePut(encoded, condition),
  )
  return writeResult(open, encoded, outcome)
}

export async function deleteDocument(
  open: OpenCollection,
  target: { readonly id: string; readonly key: EncodedPartitionKey },
  options: WriteOptions,
): Promise<DeleteResult> {
  const { id } = target
  const outcome = await commitConditioned(
    open,
    { kind: 'delete', ...target },
    options,
    (condition) => ({ operation: { kind: 'delete', id, condition } }),
  )
  return { lsn: batchLsn(outcome), serverTimeMs: outcome.timeMs }
}

interface WriteTarget {
  readonly kind: 'create' | 'upsert' | 'replace' | 'delete'
  readonly id: string
  readonly key: EncodedPartitionKey
}

async function commitConditioned(
  open: OpenCollection,
  { kind, id, key }: WriteTarget,
  options: WriteOptions,
  write: (condition: WriteCondition) => SingleWrite,
): Promise<Committed> {
  const { signal } = options
  signal?.throwIfAborted()
  const condition = engineCondition(kind, options, open.record.number)
  if (condition !== undefined) {
    const outcome = await commitOne(open, key, write(condition))
    if (outcome.kind === 'committed') return outcome
    throw refusal(kind, id, open, outcome.presentLsn)
  }
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    signal?.throwIfAborted()
    const row = await readRow(open, key, id)
    const etag = row && documentEtag(open.record.number, row.lsn)
    const failure = conditionFailure(kind, id, options, etag)
    if (failure !== undefined) throw failure
    const same: WriteCondition = row ? { kind: 'lsn', lsn: row.lsn } : { kind: 'absent' }
    const outcome = await commitOne(open, key, write(same))
    if (outcome.kind === 'committed') return outcome
  }
  throw new WriteConflictError(id, MAX_WRITE_ATTEMPTS)
}
