import { assertNever } from '@tidemark/contracts'
import type { CommitBatch, CommitOutcome, CommittedBatch } from '../engine/commit.ts'
import { conditionHolds } from '../engine/write-condition.ts'
import type { MemoryCollection } from './memory-collection.ts'
import type { MemoryRange } from './memory-range.ts'
import { rowKey } from './memory-row.ts'

/** One batch with what the commit will give it. */
export interface PlannedBatch extends CommittedBatch {
  readonly batch: CommitBatch
  readonly collection: MemoryCollection
  readonly range: MemoryRange
}

export type CommitPlan =
  | { readonly kind: 'planned'; readonly batches: readonly PlannedBatch[] }
  | Extract<CommitOutcome, { kind: 'refused' | 'collectionGone' }>

/**
 * Judges all conditions and hands out LSNs, changing nothing: each batch sees the effects of those
 * before it, and one refusal refuses them all.
 */
export function planCommit(
  batches: readonly CommitBatch[],
  collectionOf: (number: number) => MemoryCollection | undefined,
): CommitPlan {
  const planned: PlannedBatch[] = []
  const counters = new Map<MemoryRange, number>()
  /** LSNs of documents that earlier batches write; undefined = deleted by them. */
  const written = new Map<string, number | undefined>()
  for (const [batchIndex, batch] of batches.entries()) {
    const collection = collectionOf(batch.collection.number)
    if (collection === undefined) return { kind: 'collectionGone', batchIndex }
    const range = collection.rangeOfEpk(batch.epk)
    const writes = batch.operations.some((operation) => operation.kind !== 'check')
    const lsn = (counters.get(range) ?? range.lsn) + (writes ? 1 : 0)
    counters.set(range, lsn)
    const existed: boolean[] = []
    for (const [operationIndex, operation] of batch.operations.entries()) {
      const { partitionKey } = batch
      const key = `${batch.collection.number}\n${rowKey({ partitionKey, id: operation.id })}`
      const presentLsn = written.has(key)
        ? written.get(key)
        : collection.read({ partitionKey, id: operation.id })?.lsn
      if (!conditionHolds(operation.condition, presentLsn)) {
        return { kind: 'refused', batchIndex, operationIndex, presentLsn }
      }
      existed.push(presentLsn !== undefined)
      switch (operation.kind) {
        case 'put':
          written.set(key, lsn)
          break
        case 'delete':
          written.set(key, undefined)
          break
        case 'check':
          break
        default:
          assertNever(operation)
      }
    }
    planned.push({ batch, collection, range, lsn, existed })
  }
  return { kind: 'planned', batches: planned }
}
