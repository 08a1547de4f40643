import {
  conditionHolds,
  expiredSecond,
  neverExpires,
  planUniqueEntries,
  rangeOfEpk,
  type CommitOutcome,
  type TtlPolicy,
  type UniquePlan,
} from '@tidemark/store/engine'
import type { CatalogRows, CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { policyOf } from '../connection/live-rows.ts'
import { sequenceNumber, type OpenSegment, type OpenSegments } from './open-segments.ts'
import { storedBreach } from './unique-entry-rows.ts'
import type { WireBatch } from './writer-messages.ts'

/** A document in the present state of the transaction. */
export interface PresentDocument {
  readonly seq: number
  readonly lsn: number
  /** Second at which it expired, if it has: then it is absent for every condition (TTL-4). */
  readonly expired: number
}

export interface PlannedBatch {
  readonly batch: WireBatch
  readonly collection: CollectionRow
  readonly range: RangeRow
  /** One entry for each operation: the present document, even if it has expired. */
  readonly present: readonly (PresentDocument | undefined)[]
  readonly lsn: number
}

export type CommitPlan =
  | {
      readonly kind: 'planned'
      readonly batches: readonly PlannedBatch[]
      /** Undefined in collections without unique keys. */
      readonly unique: UniquePlan | undefined
    }
  | Extract<CommitOutcome, { kind: 'refused' | 'collectionGone' | 'invalidTtl' | 'notUnique' }>

/** The transaction's state of catalog and counters. */
export interface PlanContext {
  readonly connection: Connection
  readonly segments: OpenSegments
  readonly catalog: CatalogRows
  /** The store's clock for this commit, epoch ms. */
  readonly timeMs: number
}

/**
 * Judges all conditions and assigns LSNs without changing anything. Each batch sees the effects of those before it, and
 * one refusal refuses all.
 */
export function planBatches(context: PlanContext, batches: readonly WireBatch[]): CommitPlan {
  const planned: PlannedBatch[] = []
  const counters = new Map<OpenSegment, number>()
  // The effects of earlier batches of this commit; a single batch names each id once.
  const written = batches.length > 1 ? new Map<string, PresentDocument | undefined>() : undefined
  for (const [batchIndex, batch] of batches.entries()) {
    const collection = context.catalog.collections.get(batch.collection)
    if (collection === undefined) return { kind: 'collectionGone', batchIndex }
    const range = rangeOfEpk(collection.ranges, batch.epk)
    const segment = context.segments.get(range.segment)
    const find = documentFinder(context, collection, batch)
    const present: (PresentDocument | undefined)[] = []
    for (const [operationIndex, operation] of batch.operations.entries()) {
      const key = written && documentKey(batch, operation.id)
      const document =
        key !== undefined && written?.has(key) ? written.get(key) : find(operation.id)
      const presentLsn = document?.expired === 0 ? document.lsn : undefined
      if (!conditionHolds(operation.condition, presentLsn)) {
        return { kind: 'refused', batchIndex, operationIndex, presentLsn }
      }
      if (
        operation.kind === 'put' &&
        operation.ttl === 'invalid' &&
        collection.record.definition.defaultTtl !== null
      ) {
        return { kind: 'invalidTtl', batchIndex, operationIndex }
      }
      present.push(document)
    }
    const before = counters.get(segment) ?? segment.lsn
    const lsn = before + expiriesOf(batch, present) + writesOf(batch)
    counters.set(segment, lsn)
    if (written !== undefined) {
      noteWrites(written, { batch, present, lsn, segment, slot: lsn - writesOf(batch) })
    }
    planned.push({ batch, collection, range, present, lsn })
  }
  const unique = planUniqueEntries(batches)
  const breach = unique && storedBreach(context, unique, context.timeMs)
  if (breach !== undefined) return { kind: 'notUnique', ...breach }
  return { kind: 'planned', batches: planned, unique }
}

/** Number of pending deletes that the batch writes first: of expired documents that it writes again (TTL-16). */
export function expiriesOf(
  { operations }: WireBatch,
  present: readonly (PresentDocument | undefined)[],
): number {
  let count = 0
  for (const [index, { kind }] of operations.entries()) {
    const document = present[index]
    if (kind === 'put' && document !== undefined && document.expired !== 0) count++
  }
  return count
}

/** A batch takes one slot for each write, so its LSN is the slot of its last write. */
export function writesOf({ operations }: WireBatch): number {
  let writes = 0
  for (const { kind } of operations) if (kind !== 'check') writes++
  return writes
}

function noteWrites(
  written: Map<string, PresentDocument | undefined>,
  {
    batch,
    present,
    lsn,
    segment,
    slot,
  }: Pick<PlannedBatch, 'batch' | 'present' | 'lsn'> & { segment: OpenSegment; slot: number },
): void {
  let next = slot
  for (const [index, operation] of batch.operations.entries()) {
    if (operation.kind === 'check') continue
    next++
    const key = documentKey(batch, operation.id)
    const seq = sequenceNumber(segment.id, next - segment.base)
    const document = present[index]
    if (operation.kind === 'put') written.set(key, { seq, lsn, expired: 0 })
    // An expired document is left to the sweep, or to the next writer of its key.
    else if (document === undefined || document.expired === 0) written.set(key, undefined)
  }
}

function documentKey(batch: WireBatch, id: string): string {
  return `${batch.collection}\n${batch.partitionKey}\n${id}`
}

const FIND =
  'SELECT seq, lsn FROM doc WHERE coll = ? AND epk = ? AND pk = ? AND id = ? AND kind = 0'
const FIND_EXPIRING =
  'SELECT seq, lsn, ts, ttl FROM doc WHERE coll = ? AND epk = ? AND pk = ? AND id = ? AND kind = 0'

function documentFinder(
  { connection, timeMs }: PlanContext,
  collection: CollectionRow,
  batch: WireBatch,
): (id: string) => PresentDocument | undefined {
  const policy: TtlPolicy = policyOf(collection)
  const mayExpire = !neverExpires(policy)
  return (id) => {
    const { epk, partitionKey } = batch
    const sql = mayExpire ? FIND_EXPIRING : FIND
    const row = connection.get(sql, batch.collection, epk, partitionKey, id)
    if (row === undefined) return undefined
    const seq = numberColumn(row, 0)
    const lsn = numberColumn(row, 1)
    if (!mayExpire) return { seq, lsn, expired: 0 }
    const times = { ts: numberColumn(row, 2), ttl: numberColumn(row, 3) }
    return { seq, lsn, expired: expiredSecond(times, policy, timeMs) }
  }
}
