import { assertNever } from '@tidemark/contracts'
import type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  CommittedBatch,
} from '../engine/commit.ts'
import { planUniqueEntries, uniqueBreach, type UniqueHolder } from '../engine/unique-entries.ts'
import { conditionHolds } from '../engine/write-condition.ts'
import type { MemoryCollection } from './memory-collection.ts'
import type { MemoryRange } from './memory-range.ts'
import { rowKey, type MemoryRow } from './memory-row.ts'

/** The pending delete of an expired document that a put replaces (TTL-16). */
export interface PlannedExpiry {
  readonly row: MemoryRow
  /** Epoch second. */
  readonly expiredAt: number
  readonly lsn: number
}

/** One batch with the values that the commit gives it. */
export interface PlannedBatch extends CommittedBatch {
  readonly batch: CommitBatch
  readonly collection: MemoryCollection
  readonly range: MemoryRange
  /** Written before the batch itself, each at an LSN of its own. */
  readonly expiries: readonly PlannedExpiry[]
}

type CommitFailure = Extract<
  CommitOutcome,
  { kind: 'refused' | 'collectionGone' | 'invalidTtl' | 'notUnique' }
>

export type CommitPlan =
  | {
      readonly kind: 'planned'
      readonly batches: readonly PlannedBatch[]
      /** The unique key entries of the commit's documents afterwards. */
      readonly holders: readonly UniqueHolder[]
    }
  | CommitFailure

/**
 * Judges all conditions and assigns LSNs without changing anything. Each batch sees the effects of those before it, and
 * one refusal refuses all.
 */
export function planCommit(
  batches: readonly CommitBatch[],
  collectionOf: (number: number) => MemoryCollection | undefined,
  nowMs: number,
): CommitPlan {
  const planner = new CommitPlanner(nowMs)
  const planned: PlannedBatch[] = []
  for (const [batchIndex, batch] of batches.entries()) {
    const collection = collectionOf(batch.collection)
    if (collection === undefined) return { kind: 'collectionGone', batchIndex }
    const plan = planner.plan(batch, { batchIndex, collection })
    if ('kind' in plan) return plan
    planned.push(plan)
  }
  const unique = planUniqueEntries(batches)
  const breach =
    unique &&
    uniqueBreach(unique, (claim) => {
      const collection = collectionOf(claim.scope.collection)
      const id = collection?.heldEntries.holderOf(claim)
      const { partitionKey } = claim.scope
      return id === undefined ? undefined : collection?.read({ partitionKey, id }, nowMs)?.id
    })
  if (breach !== undefined) return { kind: 'notUnique', ...breach }
  return { kind: 'planned', batches: planned, holders: unique?.holders ?? [] }
}

/** The state that the batches so far would leave. */
class CommitPlanner {
  readonly #nowMs: number
  readonly #counters = new Map<MemoryRange, number>()
  /** LSNs of documents that earlier batches write; undefined = they delete the document. */
  readonly #written = new Map<string, number | undefined>()
  /** Expired documents that will be pending deletes by then. */
  readonly #converted = new Set<MemoryRow>()

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  plan(
    batch: CommitBatch,
    {
      batchIndex,
      collection,
    }: { readonly batchIndex: number; readonly collection: MemoryCollection },
  ): PlannedBatch | CommitFailure {
    const range = collection.rangeOfEpk(batch.epk)
    const counter = this.#counters.get(range) ?? range.lsn
    const expiries = this.#expiries(batch, { collection, counter })
    const writes = batch.operations.some((operation) => operation.kind !== 'check')
    const lsn = counter + expiries.length + (writes ? 1 : 0)
    const hasTtl = collection.record.definition.defaultTtl !== null
    const existed: boolean[] = []
    for (const [operationIndex, operation] of batch.operations.entries()) {
      const presentLsn = this.#presentLsn(batch, { collection, id: operation.id })
      if (!conditionHolds(operation.condition, presentLsn)) {
        return { kind: 'refused', batchIndex, operationIndex, presentLsn }
      }
      if (operation.kind === 'put' && operation.ttl === 'invalid' && hasTtl) {
        return { kind: 'invalidTtl', batchIndex, operationIndex }
      }
      existed.push(presentLsn !== undefined)
      this.#note(batch, operation, lsn)
    }
    this.#counters.set(range, lsn)
    return { batch, collection, range, lsn, existed, expiries }
  }

  /** For the documents that this batch overwrites. They come first, whatever else the batch does. */
  #expiries(
    { partitionKey, operations }: CommitBatch,
    { collection, counter }: { readonly collection: MemoryCollection; readonly counter: number },
  ): readonly PlannedExpiry[] {
    const expiries: PlannedExpiry[] = []
    for (const { kind, id } of operations) {
      if (kind !== 'put') continue
      const row = collection.documents.read({ partitionKey, id })
      if (row === undefined || this.#converted.has(row)) continue
      const expiredAt = collection.expiredSecond(row, this.#nowMs)
      if (expiredAt === 0) continue
      this.#converted.add(row)
      expiries.push({ row, expiredAt, lsn: counter + expiries.length + 1 })
    }
    return expiries
  }

  #presentLsn(
    batch: CommitBatch,
    { collection, id }: { readonly collection: MemoryCollection; readonly id: string },
  ): number | undefined {
    const key = keyOf(batch, id)
    if (this.#written.has(key)) return this.#written.get(key)
    return collection.read({ partitionKey: batch.partitionKey, id }, this.#nowMs)?.lsn
  }

  #note(batch: CommitBatch, operation: CommitOperation, lsn: number): void {
    const key = keyOf(batch, operation.id)
    switch (operation.kind) {
      case 'put':
        this.#written.set(key, lsn)
        break
      case 'delete':
        this.#written.set(key, undefined)
        break
      case 'check':
        break
      default:
        assertNever(operation)
    }
  }
}

function keyOf({ collection, partitionKey }: CommitBatch, id: string): string {
  return `${collection}\n${rowKey({ partitionKey, id })}`
}
