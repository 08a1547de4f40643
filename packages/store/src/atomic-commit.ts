import {
  CodedError,
  FencedWriteError,
  InvalidOptionError,
  PreconditionFailedError,
  ResourceNotFoundError,
  UniqueKeyError,
  assertNever,
  documentEtag,
  lsn,
  type DocumentBody,
  type EtagConditions,
  type Lsn,
  type PartitionKey,
} from '@tidemark/contracts'
import { MAX_TTL_SECONDS } from './catalog/collection-settings.ts'
import { checkedDocumentId } from './catalog/resource-names.ts'
import type { Collection } from './collection.ts'
import type { EncodedPartitionKey } from './documents/document-encoder.ts'
import { engineCondition } from './documents/write-conditions.ts'
import {
  notUnique,
  putOperation,
  refusedTtl,
  singlePut,
  type OpenCollection,
  type SingleWrite,
} from './documents/open-collection.ts'
import { checkAtomicOperation } from './documents/write-rules.ts'
import type { CommitBatch, CommitOperation, WriteCondition, WriteFence } from './engine/commit.ts'
import { assertCommitSize, assertOperations } from './engine/commit-size.ts'
import type { DatabaseEngine } from './engine/storage-engine.ts'
import type { UniqueStep } from './engine/commit.ts'
import { AtomicWriteFailedError } from './errors/atomic-write-failed-error.ts'

/** One write of an atomic commit. At most one of `ifMatch` and `ifNoneMatch`; with neither, it always applies. */
export type AtomicOperation =
  | (EtagConditions & {
      readonly kind: 'put'
      /** The second form accepts object literals with additional properties. */
      readonly document:
        DocumentBody | { readonly id: string; readonly [property: string]: unknown }
      /**
       * Epoch ms at which the document is to expire, rounded up to a whole second, and at least one second after the
       * commit. The store computes `ttl` from it, and replaces the document's own (JB-2). It takes effect while the
       * collection has TTL on.
       */
      readonly expiresAtMs?: number | undefined
    })
  | (EtagConditions & {
      /** `check` only judges the conditions. To delete a missing document is not an error. */
      readonly kind: 'delete' | 'check'
      readonly id: string
      readonly partitionKey: PartitionKey
    })

export interface AtomicWrite {
  /** Any collection of the database. */
  readonly collection: Pick<Collection, 'open' | 'id'>
  readonly operation: AtomicOperation
}

export interface AtomicCommitOptions {
  /** The commit fails with ERR_FENCED_WRITE when a later owner of the range has written. */
  readonly fence?: WriteFence | undefined
  readonly signal?: AbortSignal | undefined
}

export interface AtomicCommitResult {
  /** One entry for each write: the LSN of its document. */
  readonly lsns: readonly Lsn[]
  /** The store's clock at the commit, epoch ms. */
  readonly serverTimeMs: number
}

/** A batch as it grows, with the write that each of its operations belongs to. */
interface GrowingBatch extends CommitBatch {
  readonly operations: CommitOperation[]
  readonly uniqueSteps: UniqueStep[] | undefined
  /** For each step. */
  readonly stepIndexes: number[]
  readonly writeIndexes: number[]
  readonly ids: Set<string>
}

/**
 * Commits writes to several partition key values and collections as one: all or none. Writes to one partition key value
 * keep their order. One document can be written more than once.
 */
export async function commitAtomically(
  engine: DatabaseEngine,
  writes: readonly AtomicWrite[],
  { fence, signal, maxDocumentBytes }: AtomicCommitOptions & { readonly maxDocumentBytes: number },
): Promise<AtomicCommitResult> {
  signal?.throwIfAborted()
  for (const { operation } of writes) checkAtomicOperation(operation)
  if (writes.length === 0) throw new InvalidOptionError('an atomic commit needs at least one write')
  assertOperations(writes.length)
  const opened = await openAll(engine, writes)
  const batches = groupWrites(writes, opened)
  assertCommitSize(batches, maxDocumentBytes)
  const outcome = await engine.commit({ batches: batches.map(commitBatchOf), fence })
  switch (outcome.kind) {
    case 'committed': {
      const lsns: Lsn[] = []
      for (const [index, { writeIndexes }] of batches.entries()) {
        const batchLsn = lsn(outcome.batches[index]?.lsn ?? 0)
        for (const writeIndex of writeIndexes) lsns[writeIndex] = batchLsn
      }
      return { lsns, serverTimeMs: outcome.timeMs }
    }
    case 'refused': {
      const { batchIndex, operationIndex, presentLsn } = outcome
      const batch = batches[batchIndex]
      const writeIndex = batch?.writeIndexes[operationIndex] ?? 0
      const id = batch?.operations[operationIndex]?.id ?? ''
      const etag = presentLsn && batch && documentEtag(batch.collection.number, presentLsn)
      const reason = etag ? `its etag is ${etag}` : 'it does not exist'
      throw new AtomicWriteFailedError(
        writeIndex,
        new PreconditionFailedError(id, reason),
        presentLsn,
      )
    }
    case 'invalidTtl': {
      const batch = batches[outcome.batchIndex]
      const writeIndex = batch?.writeIndexes[outcome.operationIndex] ?? 0
      throw new AtomicWriteFailedError(
        writeIndex,
        refusedTtl(batch?.operations[outcome.operationIndex]),
      )
    }
    case 'notUnique': {
      const batch = batches[outcome.batchIndex]
      const writeIndex = batch?.stepIndexes[outcome.stepIndex] ?? 0
      const id = batch?.uniqueSteps?.[outcome.stepIndex]?.id ?? ''
      if (batch === undefined)
        throw new AtomicWriteFailedError(writeIndex, new UniqueKeyError(id, []))
      throw new AtomicWriteFailedError(writeIndex, notUnique(batch.collection, id, outcome))
    }
    case 'fenced':
      throw new FencedWriteError(fence?.job ?? '', fence?.epoch ?? 0, outcome.currentEpoch)
    case 'collectionGone': {
      const batch = batches[outcome.batchIndex]
      const gone = new ResourceNotFoundError('collection', batch?.collection.id ?? '')
      throw new AtomicWriteFailedError(batch?.writeIndexes[0] ?? 0, gone)
    }
    default:
      return assertNever(outcome)
  }
}

async function openAll(
  engine: DatabaseEngine,
  writes: readonly AtomicWrite[],
): Promise<ReadonlyMap<AtomicWrite['collection'], OpenCollection>> {
  const opened = new Map<AtomicWrite['collection'], OpenCollection>()
  for (const { collection } of writes) {
    if (opened.has(collection)) continue
    const open = await collection.open()
    if (open.engine !== engine) {
      throw new InvalidOptionError(
        `collection ${JSON.stringify(collection.id)} is in another database; ` +
          'an atomic commit concerns one database',
      )
    }
    opened.set(collection, open)
  }
  return opened
}

function groupWrites(
  writes: readonly AtomicWrite[],
  opened: ReadonlyMap<AtomicWrite['collection'], OpenCollection>,
): readonly GrowingBatch[] {
  const batches: GrowingBatch[] = []
  const latest = new Map<string, GrowingBatch>()
  for (const [writeIndex, { collection, operation }] of writes.entries()) {
    const open = opened.get(collection)
    if (open === undefined) continue
    const { key, write } = failingAs(writeIndex, () => commitOperation(open, operation))
    const groupKey = `${open.record.number} ${key.text}`
    let batch = latest.get(groupKey)
    // A batch has each id at most once: a second write of the same id begins another batch.
    if (batch === undefined || batch.ids.has(write.operation.id)) {
      const { epk, text: partitionKey } = key
      const collectionRecord = open.record
      batch = {
        collection: collectionRecord,
        epk,
        partitionKey,
        operations: [],
        uniqueSteps: open.record.definition.uniqueKeys && [],
        stepIndexes: [],
        writeIndexes: [],
        ids: new Set(),
      }
      batches.push(batch)
      latest.set(groupKey, batch)
    }
    const { operation: commit, uniqueEntries: entries = [] } = write
    const { id } = commit
    batch.operations.push(commit)
    batch.writeIndexes.push(writeIndex)
    batch.ids.add(id)
    if (commit.kind === 'check' || batch.uniqueSteps === undefined) continue
    batch.uniqueSteps.push({ id, entries })
    batch.stepIndexes.push(writeIndex)
  }
  return batches
}

function commitOperation(
  { encoder, engine, record }: OpenCollection,
  operation: AtomicOperation,
): { readonly key: EncodedPartitionKey; readonly write: SingleWrite } {
  const condition = atomicCondition(operation, record.number)
  if (operation.kind === 'put') {
    const { expiresAtMs } = operation
    if (expiresAtMs === undefined) {
      const encoded = encoder.encode(operation.document)
      return { key: encoded.partitionKey, write: singlePut(encoded, condition) }
    }
    const expirySecond = checkedExpirySecond(expiresAtMs, engine)
    const encoded = encoder.encodeWithoutTtl(operation.document)
    const { uniqueEntries } = encoded
    const put = { ...putOperation(encoded, condition), expirySecond }
    return { key: encoded.partitionKey, write: { operation: put, uniqueEntries } }
  }
  const key = encoder.encodeKey(operation.partitionKey)
  const { kind } = operation
  return { key, write: { operation: { kind, id: checkedDocumentId(operation.id), condition } } }
}

/** An atomic commit reads nothing first, so the engine alone must judge the condition. */
function atomicCondition(conditions: EtagConditions, collection: number): WriteCondition {
  const condition = engineCondition('upsert', conditions, collection)
  if (condition !== undefined) return condition
  throw new InvalidOptionError('a write of an atomic commit takes ifMatch or ifNoneMatch, not both')
}

function checkedExpirySecond(expiresAtMs: number, engine: DatabaseEngine): number {
  const latestMs = (Math.floor(engine.nowMs() / 1000) + MAX_TTL_SECONDS) * 1000
  if (Number.isSafeInteger(expiresAtMs) && expiresAtMs > 0 && expiresAtMs <= latestMs) {
    return Math.ceil(expiresAtMs / 1000)
  }
  throw new InvalidOptionError(
    `expiresAtMs must be a time in epoch ms, at most ${MAX_TTL_SECONDS} s from now, got ${String(expiresAtMs)}`,
  )
}

/** What engines take and can send to a thread: without the fields that only this file needs. */
function commitBatchOf({
  collection,
  epk,
  partitionKey,
  operations,
  uniqueSteps,
}: GrowingBatch): CommitBatch {
  return { collection, epk, partitionKey, operations, uniqueSteps }
}

function failingAs<Value>(writeIndex: number, act: () => Value): Value {
  try {
    return act()
  } catch (error) {
    if (error instanceof CodedError) throw new AtomicWriteFailedError(writeIndex, error)
    throw error
  }
}
