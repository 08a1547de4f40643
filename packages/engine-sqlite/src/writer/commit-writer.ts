import {
  planCommit,
  type PlannedBatch,
  type PlannedDelete,
  type PlannedPut,
} from '@tidemark/store/engine'
import { writePendingDelete } from './expiry-writes.ts'
import { sendMessages } from './message-writer.ts'
import { sequenceNumber, type OpenSegment } from './open-segments.ts'
import type { PresentRow, SegmentPlace, TransactionState } from './transaction-state.ts'
import { storeEntries } from './unique-entry-rows.ts'
import type { WriterResult, WriterTask } from './writer-messages.ts'

type CommitTask = Extract<WriterTask, { kind: 'commit' }>
type SqliteBatch = PlannedBatch<SegmentPlace, PresentRow>
type SqlitePut = PlannedPut<PresentRow>
type SqliteWrite = SqlitePut | PlannedDelete<PresentRow>

const REMOVE = 'DELETE FROM doc WHERE seq = ?'
const INSERT = 'INSERT INTO doc VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?)'
const LOG = 'INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL)'
const LOG_WITH_PREVIOUS = `INSERT INTO log
  SELECT ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, rid), ?, ?, lsn, ts, made, body FROM doc WHERE seq = ?`

/** Column `op` of the log. */
const CREATE = 0
const REPLACE = 1
const DELETE = 2

/**
 * Applies one commit inside the group's transaction. Its documents are judged before the first row is touched, so a
 * refusal leaves nothing behind. Its messages, if it has any, are sent before documents are written.
 */
export function applyCommit(state: TransactionState, task: CommitTask): WriterResult {
  // First of all, because a new segment changes the catalog, and with it the places of all batches.
  for (const { collection, epk } of task.batches) state.roomFor(collection, epk)
  const { outcome, batches, unique } = planCommit(state, task)
  if (outcome.kind !== 'committed') return { kind: 'committed', outcome, touched: [] }
  const sent = task.sends && sendMessages(state, task.sends)
  if (sent?.kind === 'notSent') return { kind: 'committed', outcome: sent, touched: [] }
  if (task.fence !== undefined) state.fences.remember(task.fence)
  for (const batch of batches) writeBatch(state, batch)
  if (unique !== undefined) storeEntries(state.connection, unique)
  state.wroteNow()
  const touched = batches.map(({ batch: { collection }, place: { range }, lsn }) => {
    return { collection, range: range.number, lsn }
  })
  if (sent === undefined) return { kind: 'committed', outcome, touched }
  const { time: sentAt, messages } = sent
  return { kind: 'committed', outcome: { ...outcome, sentAt }, touched, messages }
}

function writeBatch(state: TransactionState, planned: SqliteBatch): void {
  const { connection } = state
  const { place, lsn, expiries, writes } = planned
  const { collection, counter: segment } = place
  for (const expiry of expiries) {
    const { document, second } = expiry
    const row = { collection, seq: document.seq, second }
    writePendingDelete(state, row, { segment, lsn: expiry.lsn })
  }
  for (const write of writes) {
    const { replaces, taken } = write
    const seq = sequenceNumber(segment, taken)
    const previous = replaces && rowOf(replaces, segment)
    // Before the old row goes, which still has the previous image.
    logChange(state, planned, { write, seq, previous })
    if (previous !== undefined) connection.run(REMOVE, previous)
    if ('ts' in write) insertRow(state, planned, { write, seq })
  }
  if (lsn === segment.lsn) return
  segment.lsn = lsn
  segment.changed = true
}

/** An earlier batch of the commit wrote to the same segment: that of the key. */
function rowOf(document: PresentRow | SqlitePut, segment: OpenSegment): number {
  return 'seq' in document ? document.seq : sequenceNumber(segment, document.taken)
}

function insertRow(
  { connection }: TransactionState,
  { batch, lsn }: SqliteBatch,
  { write, seq }: { readonly write: SqlitePut; readonly seq: number },
): void {
  const { collection, epk, partitionKey } = batch
  const { ts, ttl, expirySecond, made, operation } = write
  const { id, rid, body } = operation
  connection.run(
    INSERT,
    seq,
    lsn,
    collection,
    epk,
    partitionKey,
    id,
    ts,
    ttl,
    expirySecond,
    rid,
    made,
    body,
  )
}

function logChange(
  { connection, timeMs }: TransactionState,
  { batch, place, lsn }: SqliteBatch,
  {
    write,
    seq,
    previous,
  }: {
    readonly write: SqliteWrite
    readonly seq: number
    /** Row of the version before. */
    readonly previous: number | undefined
  },
): void {
  const { allVersions } = place.collection.record.definition
  if (allVersions === null) return
  const put = 'ts' in write ? write : undefined
  const op = put === undefined ? DELETE : previous === undefined ? CREATE : REPLACE
  const entry = [
    seq,
    lsn,
    batch.collection,
    batch.epk,
    batch.partitionKey,
    write.operation.id,
    op,
    timeMs,
    put?.operation.rid ?? null,
    put?.made ?? null,
    put?.operation.body ?? null,
  ] as const
  if (allVersions.previousImages && previous !== undefined) {
    connection.run(LOG_WITH_PREVIOUS, ...entry, previous)
  } else connection.run(LOG, ...entry)
}
