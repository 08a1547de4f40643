import { conditionHolds, rangeOfEpk, stampBody, type CommitOutcome } from '@tidemark/store'
import type { CatalogRows, RangeRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Fences } from './fences.ts'
import { sequenceNumber, type OpenSegment, type OpenSegments } from './open-segments.ts'
import type { TouchedRange, WireBatch, WriterTask } from './writer-messages.ts'

type CommitTask = Extract<WriterTask, { kind: 'commit' }>

/** A document as the transaction has it now. */
interface Present {
  readonly seq: number
  readonly lsn: number
}

interface PlannedBatch {
  readonly batch: WireBatch
  readonly range: RangeRow
  /** One entry an operation. */
  readonly present: readonly (Present | undefined)[]
  readonly lsn: number
}

const FIND =
  'SELECT seq, lsn FROM doc WHERE coll = ? AND epk = ? AND pk = ? AND id = ? AND kind = 0'
const REMOVE = 'DELETE FROM doc WHERE seq = ?'
const INSERT = 'INSERT INTO doc VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, 0, ?)'

/** What a commit works on: the transaction's state of catalog, counters and fences. */
export interface CommitContext {
  readonly connection: Connection
  readonly segments: OpenSegments
  readonly fences: Fences
  readonly catalog: CatalogRows
  /** The store's clock for a commit that touches these segments, epoch ms. */
  readonly timeMs: number
}

/**
 * Applies one commit inside the group's transaction. All conditions are judged before the first row
 * is touched, so that a refusal leaves nothing behind and needs no savepoint.
 */
export function applyCommit(
  context: CommitContext,
  { batches, fence }: CommitTask,
): { readonly outcome: CommitOutcome; readonly touched: readonly TouchedRange[] } {
  if (fence !== undefined) {
    const currentEpoch = context.fences.refusing(fence)
    if (currentEpoch !== undefined)
      return { outcome: { kind: 'fenced', currentEpoch }, touched: [] }
  }
  const plan = planBatches(context, batches)
  if (plan.kind !== 'planned') return { outcome: plan, touched: [] }
  if (fence !== undefined) context.fences.remember(fence)
  const { timeMs } = context
  for (const planned of plan.batches) writeBatch(context, planned)
  return {
    outcome: {
      kind: 'committed',
      timeMs,
      batches: plan.batches.map(({ lsn, present }) => ({
        lsn,
        existed: present.map((document) => document !== undefined),
      })),
    },
    touched: plan.batches.map(({ batch, range, lsn }) => ({
      collection: batch.collection,
      range: range.number,
      lsn,
    })),
  }
}

type Plan =
  | { readonly kind: 'planned'; readonly batches: readonly PlannedBatch[] }
  | Extract<CommitOutcome, { kind: 'refused' | 'collectionGone' }>

function planBatches(context: CommitContext, batches: readonly WireBatch[]): Plan {
  const planned: PlannedBatch[] = []
  const counters = new Map<OpenSegment, number>()
  // What earlier batches of this commit did; a single batch names each id once.
  const written = batches.length > 1 ? new Map<string, Present | undefined>() : undefined
  for (const [batchIndex, batch] of batches.entries()) {
    const collection = context.catalog.collections.get(batch.collection)
    if (collection === undefined) return { kind: 'collectionGone', batchIndex }
    const range = rangeOfEpk(collection.ranges, batch.epk)
    const segment = context.segments.get(range.segment)
    const before = counters.get(segment) ?? segment.lsn
    const lsn = before + slotsOf(batch)
    counters.set(segment, lsn)
    const present: (Present | undefined)[] = []
    let slot = before
    for (const [operationIndex, operation] of batch.operations.entries()) {
      const key = written && `${batch.collection}\n${batch.partitionKey}\n${operation.id}`
      const document =
        key !== undefined && written?.has(key)
          ? written.get(key)
          : findDocument(context.connection, batch, operation.id)
      if (!conditionHolds(operation.condition, document?.lsn)) {
        return { kind: 'refused', batchIndex, operationIndex, presentLsn: document?.lsn }
      }
      present.push(document)
      if (operation.kind === 'put') slot++
      if (key === undefined || operation.kind === 'check') continue
      const seq = sequenceNumber(segment.id, slot - segment.base)
      written?.set(key, operation.kind === 'put' ? { seq, lsn } : undefined)
    }
    planned.push({ batch, range, present, lsn })
  }
  return { kind: 'planned', batches: planned }
}

function writeBatch({ connection, segments, timeMs }: CommitContext, planned: PlannedBatch): void {
  const { batch, range, present, lsn } = planned
  const segment = segments.get(range.segment)
  const ts = Math.floor(timeMs / 1000)
  let slot = segment.lsn - segment.base
  for (const [index, operation] of batch.operations.entries()) {
    if (operation.kind === 'check') continue
    const document = present[index]
    if (document !== undefined) connection.run(REMOVE, document.seq)
    if (operation.kind !== 'put') continue
    slot++
    connection.run(
      INSERT,
      sequenceNumber(segment.id, slot),
      lsn,
      batch.collection,
      batch.epk,
      batch.partitionKey,
      operation.id,
      ts,
      operation.ttl,
      stampBody(operation, { collection: batch.collection, lsn, ts }),
    )
  }
  if (lsn === segment.lsn) return
  segment.lsn = lsn
  segment.clockMs = Math.max(segment.clockMs, timeMs)
  segment.changed = true
}

/** A batch takes a slot a document, at least one, so that its LSN is its last document's slot. */
function slotsOf({ operations }: WireBatch): number {
  let puts = 0
  let writes = 0
  for (const { kind } of operations) {
    if (kind === 'put') puts++
    if (kind !== 'check') writes++
  }
  return writes === 0 ? 0 : Math.max(puts, 1)
}

function findDocument(connection: Connection, batch: WireBatch, id: string): Present | undefined {
  const row = connection.get(FIND, batch.collection, batch.epk, batch.partitionKey, id)
  return row && { seq: numberColumn(row, 0), lsn: numberColumn(row, 1) }
}
