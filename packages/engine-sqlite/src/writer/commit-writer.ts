import { expirySecond, ttlUntil, type CommitOutcome } from '@tidemark/store/engine'
import type { Connection } from '../connection/connection.ts'
import { writePendingDelete } from './expiry-writes.ts'
import type { Fences } from './fences.ts'
import { sequenceNumber } from './open-segments.ts'
import {
  planBatches,
  writesOf,
  type PlanContext,
  type PlannedBatch,
  type PresentDocument,
} from './plan-batches.ts'
import { storeEntries } from './unique-entry-rows.ts'
import type { TouchedRange, WireBatch, WriterTask } from './writer-messages.ts'

type CommitTask = Extract<WriterTask, { kind: 'commit' }>
type PutOperation = Extract<WireBatch['operations'][number], { kind: 'put' }>

const REMOVE = 'DELETE FROM doc WHERE seq = ?'
const INSERT = 'INSERT INTO doc VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?)'
const LOG = 'INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL)'
const LOG_WITH_PREVIOUS = `INSERT INTO log
  SELECT ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, rid), ?, ?, lsn, ts, made, body FROM doc WHERE seq = ?`

/** Column `op` of the log. */
const CREATE = 0
const REPLACE = 1
const DELETE = 2

/** The context of a commit: the transaction's state of catalog, counters and fences. */
export interface CommitContext extends PlanContext {
  readonly fences: Fences
}

/**
 * Applies one commit inside the group's transaction. It judges all conditions before it touches the first row, so a
 * refusal leaves nothing behind and needs no savepoint.
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
  if (plan.unique !== undefined) storeEntries(context.connection, plan.unique)
  return {
    outcome: {
      kind: 'committed',
      timeMs,
      batches: plan.batches.map(({ lsn, present }) => ({
        lsn,
        existed: present.map((document) => document?.expired === 0),
      })),
    },
    touched: plan.batches.map(({ batch, range, lsn }) => ({
      collection: batch.collection,
      range: range.number,
      lsn,
    })),
  }
}

function writeBatch(context: CommitContext, planned: PlannedBatch): void {
  const { connection, segments, timeMs } = context
  const { batch, range, present, lsn, collection } = planned
  const segment = segments.get(range.segment)
  if (lsn === segment.lsn) return
  for (const [index, { kind }] of batch.operations.entries()) {
    const document = present[index]
    if (kind !== 'put' || document === undefined || document.expired === 0) continue
    const expired = { collection, epk: batch.epk, seq: document.seq, second: document.expired }
    writePendingDelete({ connection, segments, timeMs }, expired)
  }
  let slot = lsn - writesOf(batch) - segment.base
  for (const [index, operation] of batch.operations.entries()) {
    if (operation.kind === 'check') continue
    slot++
    const seq = sequenceNumber(segment.id, slot)
    // An expired document was handled above, or is left to the sweep.
    const document = present[index]?.expired === 0 ? present[index] : undefined
    if (operation.kind === 'put') putDocument(context, planned, { operation, document, seq })
    else if (document !== undefined) {
      logChange(context, planned, { id: operation.id, document, seq, written: undefined })
      connection.run(REMOVE, document.seq)
    }
  }
  segment.lsn = lsn
  segment.changed = true
}

function putDocument(
  context: CommitContext,
  planned: PlannedBatch,
  {
    operation,
    document,
    seq,
  }: { operation: PutOperation; document: PresentDocument | undefined; seq: number },
): void {
  const { batch, collection, lsn } = planned
  const ts = Math.floor(context.timeMs / 1000)
  const until = operation.expirySecond
  const made = until === undefined ? null : ttlUntil(until, ts)
  const ttl = made ?? (operation.ttl === 'invalid' ? 0 : operation.ttl)
  const { id, rid, body } = operation
  logChange(context, planned, { id, document, seq, written: { rid, made, body } })
  if (document !== undefined) context.connection.run(REMOVE, document.seq)
  context.connection.run(
    INSERT,
    seq,
    lsn,
    batch.collection,
    batch.epk,
    batch.partitionKey,
    id,
    ts,
    ttl,
    expirySecond({ ts, ttl }, collection.record.definition.defaultTtl),
    rid,
    made,
    body,
  )
}

/** Call it before the old row is deleted, which still has the previous image. */
function logChange(
  { connection, timeMs }: { readonly connection: Connection; readonly timeMs: number },
  { batch, collection, lsn }: PlannedBatch,
  change: {
    readonly id: string
    readonly document: PresentDocument | undefined
    readonly seq: number
    /** Undefined for a delete. */
    readonly written:
      { readonly rid: string; readonly made: number | null; readonly body: string } | undefined
  },
): void {
  const { allVersions } = collection.record.definition
  if (allVersions === null) return
  const { id, document, seq, written } = change
  const put = document === undefined ? CREATE : REPLACE
  const op = written === undefined ? DELETE : put
  const { epk, partitionKey } = batch
  const entry = [
    seq,
    lsn,
    batch.collection,
    epk,
    partitionKey,
    id,
    op,
    timeMs,
    written?.rid ?? null,
    written?.made ?? null,
    written?.body ?? null,
  ] as const
  if (allVersions.previousImages && document !== undefined) {
    connection.run(LOG_WITH_PREVIOUS, ...entry, document.seq)
  } else connection.run(LOG, ...entry)
}
