import assert from 'node:assert/strict'
import {
  CodedError,
  FencedWriteError,
  InvalidOptionError,
  PreconditionFailedError,
  ResourceNotFoundError,
  lsn,
  type DocumentBody,
  type EtagConditions,
  type Lsn,
  type PartitionKey,
} from '@tidemark/contracts'
import { assertNever, documentEtag } from '@tidemark/contracts/internal'
import { checkedDocumentId } from './catalog/resource-names.ts'
import type { Collection } from './collection.ts'
import { invalidTtl, type EncodedPartitionKey } from './documents/document-encoder.ts'
import type { OpenCollection } from './documents/open-collection.ts'
import { commitSending, type BatchOptions } from './documents/outbox.ts'
import { notUnique } from './documents/unique-entries.ts'
import { engineCondition } from './documents/write-conditions.ts'
import { putOperation } from './documents/write-document.ts'
import { checkAtomicOperation } from './documents/write-rules.ts'
import type { CollectionRecord } from './engine/catalog.ts'
import type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  WriteCondition,
  WriteFence,
} from './engine/commit.ts'
import { assertOperations } from './engine/commit-size.ts'
import { MAX_TTL_SECONDS } from './engine/expiry.ts'
import type { DatabaseEngine } from './engine/storage-engine.ts'
import type { UniqueStep } from './engine/commit.ts'
import { AtomicWriteFailedError } from './errors/atomic-write-failed-error.ts'

/** One write of an atomic commit. At most one of `ifMatch` and `ifNoneMatch`; with neither, it always applies. */
export type AtomicOperation =
  | (EtagConditions & {
      readonly kind: 'put'
      /** The second form accepts object literals with additional properties. */
      readonly document:
        | DocumentBody
        | { readonly id: string; readonly [property: string]: unknown }
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

export interface AtomicCommitOptions extends BatchOptions {
  /** The commit fails with ERR_FENCED_WRITE when a later owner of the range has written. @default none */
  readonly fence?: WriteFence | undefined
}

export interface AtomicCommitResult {
  /** One entry for each write: the LSN of its document. */
  readonly lsns: readonly Lsn[]
  /** The store's clock at the commit, epoch ms. */
  readonly serverTimeMs: number
}

/** A batch as it grows, with the write that each of its operations belongs to. */
interface GrowingBatch {
  readonly record: CollectionRecord
  /** All that the engine gets. */
  readonly batch: CommitBatch & {
    readonly operations: CommitOperation[]
    readonly uniqueSteps: UniqueStep[] | undefined
  }
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
  {
    fence,
    messages,
    signal,
    sync,
    maxDocumentBytes,
  }: AtomicCommitOptions & { readonly maxDocumentBytes: number },
): Promise<AtomicCommitResult> {
  signal?.throwIfAborted()
  for (const { operation } of writes) checkAtomicOperation(operation)
  if (writes.length === 0) throw new InvalidOptionError('an atomic commit needs at least one write')
  assertOperations(writes.length)
  const opened = await openAll(engine, writes)
  const groups = groupWrites(writes, opened)
  const batches = groups.map(({ batch }) => batch)
  const outcome = await commitSending(
    engine,
    { batches, fence, sync },
    { messages, maxDocumentBytes },
  )
  switch (outcome.kind) {
    case 'committed': {
      const lsns: Lsn[] = []
      for (const [index, { writeIndexes }] of groups.entries()) {
        const batchLsn = lsn(outcome.batches[index]?.lsn ?? 0)
        for (const writeIndex of writeIndexes) lsns[writeIndex] = batchLsn
      }
      return { lsns, serverTimeMs: outcome.timeMs }
    }
    case 'fenced':
      throw new FencedWriteError(fence?.job ?? '', fence?.epoch ?? 0, outcome.currentEpoch)
    case 'refused':
    case 'invalidTtl':
    case 'notUnique':
    case 'collectionGone': {
      const group = groups[outcome.batchIndex]
      assert(group !== undefined, 'the outcome names a batch')
      throw batchFailure(group, outcome)
    }
    default:
      return assertNever(outcome)
  }
}

/** The error of the write that an outcome of its batch refuses. */
function batchFailure(
  { record, batch, writeIndexes, stepIndexes }: GrowingBatch,
  outcome: Extract<CommitOutcome, { readonly batchIndex: number }>,
): AtomicWriteFailedError {
  switch (outcome.kind) {
    case 'refused': {
      const { operationIndex, presentLsn } = outcome
      const { id = '' } = batch.operations[operationIndex] ?? {}
      const reason =
        presentLsn === undefined
          ? 'it does not exist'
          : `its etag is ${documentEtag(record.number, presentLsn)}`
      const failure = new PreconditionFailedError(id, reason)
      return new AtomicWriteFailedError(writeIndexes[operationIndex] ?? 0, failure, presentLsn)
    }
    case 'invalidTtl': {
      const operation = batch.operations[outcome.operationIndex]
      const failure = invalidTtl(operation?.kind === 'put' ? operation : undefined)
      return new AtomicWriteFailedError(writeIndexes[outcome.operationIndex] ?? 0, failure)
    }
    case 'notUnique': {
      const { id = '' } = batch.uniqueSteps?.[outcome.stepIndex] ?? {}
      const failure = notUnique(record, id, outcome)
      return new AtomicWriteFailedError(stepIndexes[outcome.stepIndex] ?? 0, failure)
    }
    case 'collectionGone': {
      const gone = new ResourceNotFoundError('collection', record.id)
      return new AtomicWriteFailedError(writeIndexes[0] ?? 0, gone)
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
  const groups: GrowingBatch[] = []
  const latest = new Map<string, GrowingBatch>()
  for (const [writeIndex, { collection, operation: wanted }] of writes.entries()) {
    const open = opened.get(collection)
    if (open === undefined) continue
    const encoded = failingAs(writeIndex, () => commitOperation(open, wanted))
    const { key, operation, entries = [] } = encoded
    const groupKey = `${open.record.number} ${key.text}`
    let group = latest.get(groupKey)
    // A batch has each id at most once: a second write of the same id begins another batch.
    if (group === undefined || group.ids.has(operation.id)) {
      const { epk, text: partitionKey } = key
      const { record } = open
      const uniqueSteps = record.definition.uniqueKeys && []
      group = {
        record,
        batch: { collection: record.number, epk, partitionKey, operations: [], uniqueSteps },
        stepIndexes: [],
        writeIndexes: [],
        ids: new Set(),
      }
      groups.push(group)
      latest.set(groupKey, group)
    }
    const { id } = operation
    group.batch.operations.push(operation)
    group.writeIndexes.push(writeIndex)
    group.ids.add(id)
    if (operation.kind === 'check' || group.batch.uniqueSteps === undefined) continue
    group.batch.uniqueSteps.push({ id, entries })
    group.stepIndexes.push(writeIndex)
  }
  return groups
}

interface EncodedOperation {
  readonly key: EncodedPartitionKey
  readonly operation: CommitOperation
  /** Of a document that is put, in a collection with unique keys. */
  readonly entries?: readonly string[] | undefined
}

function commitOperation(
  { encoder, engine, record }: OpenCollection,
  operation: AtomicOperation,
): EncodedOperation {
  const condition = atomicCondition(operation, record.number)
  if (operation.kind === 'put') {
    const { document, expiresAtMs } = operation
    const expirySecond =
      expiresAtMs === undefined ? undefined : checkedExpirySecond(expiresAtMs, engine)
    const encoded =
      expirySecond === undefined ? encoder.encode(document) : encoder.encodeWithoutTtl(document)
    const { partitionKey: key, uniqueEntries: entries } = encoded
    return { key, operation: { ...putOperation(encoded, condition), expirySecond }, entries }
  }
  const key = encoder.encodeKey(operation.partitionKey)
  const { kind } = operation
  return { key, operation: { kind, id: checkedDocumentId(operation.id), condition } }
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

function failingAs<Value>(writeIndex: number, act: () => Value): Value {
  try {
    return act()
  } catch (error) {
    if (error instanceof CodedError) throw new AtomicWriteFailedError(writeIndex, error)
    throw error
  }
}
