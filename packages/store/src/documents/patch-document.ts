import {
  PreconditionFailedError,
  type DocumentBody,
  type PatchOperation,
  type PatchOptions,
  type Stored,
} from '@tidemark/contracts'
import { documentEtag } from '@tidemark/contracts/internal'
import { WriteConflictError } from '../errors/write-conflict-error.ts'
import { applyPatch } from './apply-patch.ts'
import type { EncodedDocument, EncodedPartitionKey } from './document-encoder.ts'
import { readRow, type OpenCollection, type TextWriteResult } from './open-collection.ts'
import { conditionFailure } from './write-conditions.ts'
import { MAX_WRITE_ATTEMPTS, commitOne, writeResult } from './write-document.ts'

/** A document after a patch, encoded again. `read` gives a new object each time. */
export function patchedDocument<T extends DocumentBody>(
  { record, encoder }: OpenCollection,
  key: EncodedPartitionKey,
  patch: {
    readonly id: string
    readonly read: () => Stored<T>
    readonly operations: readonly PatchOperation[]
    readonly condition?: ((document: Stored<T>) => boolean) | undefined
  },
): EncodedDocument {
  const { id, read, operations, condition } = patch
  if (condition !== undefined && !condition(read())) {
    throw new PreconditionFailedError(id, 'the condition of the patch does not hold')
  }
  // Read again, because the condition is the caller's code and may keep the object that it got.
  const document = read()
  applyPatch(document, operations, record.definition.partitionKey.paths)
  return encoder.encode(document, key)
}

/**
 * Reads the document, computes the result and writes it if the document has not changed meanwhile. Repeats until it
 * succeeds.
 */
export async function patchDocument<T extends DocumentBody>(
  open: OpenCollection,
  target: {
    readonly id: string
    readonly key: EncodedPartitionKey
    readonly operations: readonly PatchOperation[]
  },
  options: PatchOptions<T>,
): Promise<TextWriteResult<T>> {
  const { id, key, operations } = target
  const { condition, signal } = options
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    signal?.throwIfAborted()
    const row = await readRow(open, key, id)
    const etag = row && documentEtag(open.record.number, row.lsn)
    const failure = conditionFailure('patch', id, options, etag)
    if (failure !== undefined) throw failure
    if (row === undefined) continue
    const read = (): Stored<T> => open.stamp.document<T>(row)
    const encoded = patchedDocument(open, key, { id, read, operations, condition })
    const same = { kind: 'lsn', lsn: row.lsn } as const
    const outcome = await commitOne(open, { id, key, encoded }, same)
    if (outcome.kind === 'committed') return writeResult(open, encoded, outcome)
  }
  throw new WriteConflictError(id, MAX_WRITE_ATTEMPTS)
}
