import { InvalidOptionError } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import { raiseCatalogVersion } from '../connection/head.ts'
import { foldSegments } from './maintenance/fold-segments.ts'
import { releaseMaintenanceLease, takeMaintenanceLease } from './maintenance/maintenance-lease.ts'
import { NOTHING_TO_DO, type PieceContext, type PieceResult } from './maintenance/piece.ts'
import { purgePending } from './maintenance/purge-pending.ts'
import { reindexExpiry } from './maintenance/reindex-expiry.ts'
import { sweepExpired } from './maintenance/sweep-expired.ts'
import { trimVersions } from './maintenance/trim-versions.ts'
import { changeCollection, insertCollection, removeCollection } from './collection-writes.ts'
import { applyCommit } from './commit-writer.ts'
import { performMessages } from './message-writer.ts'
import { storePositions } from './position-writes.ts'
import { mergeRanges, splitRange } from './range-writes.ts'
import type { TransactionState } from './transaction-state.ts'
import type { WireWork, WriterRequest, WriterResult, WriterTask } from './writer-messages.ts'

type TaskOf<Kind extends WriterTask['kind']> = Extract<WriterTask, { kind: Kind }>

/** A piece of background work stops for requests after this time. */
const PIECE_MS = 4

/** What background work keeps from one piece to the next, only to continue where it was. */
export class MaintenanceMemory {
  /** Index of a range, by collection. */
  readonly purgeFrom: Map<number, number> = new Map()
  readonly trimFrom: Map<number, number> = new Map()
}

export interface CarryOutOptions {
  readonly memory: MaintenanceMemory
  readonly monotonicMs: () => number
}

/** Carries out one request inside the group's transaction. */
export function carryOut(
  state: TransactionState,
  { task, nowMs }: WriterRequest,
  options: CarryOutOptions,
): WriterResult {
  if (state.catalog.dropped) return { kind: 'databaseGone' }
  state.advanceTo(nowMs)
  const { timeMs } = state
  switch (task.kind) {
    case 'commit':
      return applyCommit(state, task)
    case 'createCollection':
      return createCollection(state, task, timeMs)
    case 'deleteCollection':
      return deleteCollection(state, task)
    case 'updateCollection':
      return updateCollection(state, task, timeMs)
    case 'splitRange':
      return split(state, task, timeMs)
    case 'mergeRanges':
      return merge(state, task, timeMs)
    case 'reportPositions':
      return reportPositions(state, task)
    case 'maintain':
      return maintain(state, task, { ...options, timeMs })
    case 'releaseMaintenance':
      releaseMaintenanceLease(state.connection, task.holder)
      return { kind: 'done' }
    case 'messages':
      return performMessages(state, task)
    case 'flush':
      return { kind: 'done' }
    case 'drop':
      state.connection.run(`UPDATE meta SET value = 1 WHERE name = 'dropped'`)
      raiseCatalogVersion(state.connection)
      state.reloadCatalog()
      return { kind: 'done' }
    default:
      return assertNever(task)
  }
}

function createCollection(
  state: TransactionState,
  task: TaskOf<'createCollection'>,
  timeMs: number,
): WriterResult {
  for (const { record } of state.catalog.collections.values()) {
    if (record.id === task.collectionId) return { kind: 'exists' }
  }
  const record = insertCollection(state.connection, task, Math.floor(timeMs / 1000))
  state.reloadCatalog()
  return { kind: 'created', record }
}

function deleteCollection(
  state: TransactionState,
  { collectionId }: TaskOf<'deleteCollection'>,
): WriterResult {
  const found = [...state.catalog.collections.values()].find(
    ({ record }) => record.id === collectionId,
  )
  if (found === undefined) return { kind: 'missing' }
  state.segments.store()
  removeCollection(state.connection, found.record.number)
  state.segments.forget()
  state.reloadCatalog()
  return { kind: 'done' }
}

function updateCollection(
  state: TransactionState,
  { collection, changes, ifMatch }: TaskOf<'updateCollection'>,
  timeMs: number,
): WriterResult {
  const present = state.catalog.collections.get(collection)
  if (present === undefined) return { kind: 'missing' }
  const { etag } = present.record
  if (ifMatch !== undefined && ifMatch !== etag) return { kind: 'otherEtag', etag }
  // The horizon of a log that begins now is taken from the counters.
  state.segments.store()
  try {
    const change = { changes, nowMs: timeMs }
    const record = changeCollection(state.connection, present, change)
    state.wroteNow()
    state.reloadCatalog()
    return { kind: 'updated', record }
  } catch (error) {
    // Judged before anything was written.
    if (error instanceof InvalidOptionError) return { kind: 'invalid', message: error.message }
    throw error
  }
}

function split(
  state: TransactionState,
  { collection, range: number, at }: TaskOf<'splitRange'>,
  timeMs: number,
): WriterResult {
  const present = state.catalog.collections.get(collection)
  if (present === undefined) return { kind: 'missing' }
  const { ranges } = present
  const parent = ranges.find((range) => range.number === number)
  if (parent === undefined) return rangeGone(present, number)
  // From now on, a segment's last LSN is read from its row.
  state.segments.store()
  const ts = Math.floor(timeMs / 1000)
  const children = splitRange(state.connection, { collection, parent, at, ranges, ts })
  if (children === undefined) {
    const interval = `"${parent.minInclusive}" to "${parent.maxExclusive}"`
    return { kind: 'invalid', message: `at must be inside the range ${interval}, got "${at}"` }
  }
  state.segments.forget()
  state.reloadCatalog()
  return { kind: 'ranges', ranges: children }
}

function merge(
  state: TransactionState,
  { collection, ranges: [a, b] }: TaskOf<'mergeRanges'>,
  timeMs: number,
): WriterResult {
  const present = state.catalog.collections.get(collection)
  if (present === undefined) return { kind: 'missing' }
  const { ranges } = present
  const find = (number: number): RangeRow | undefined =>
    ranges.find((range) => range.number === number)
  const [left, right] = [find(a), find(b)]
  if (left === undefined) return rangeGone(present, a)
  if (right === undefined) return rangeGone(present, b)
  if (left.maxExclusive !== right.minInclusive) {
    return { kind: 'invalid', message: `range ${b} does not begin where range ${a} ends` }
  }
  state.segments.store()
  const ts = Math.floor(timeMs / 1000)
  const merged = mergeRanges(state.connection, { collection, left, right, ranges, ts })
  state.segments.forget()
  state.reloadCatalog()
  return { kind: 'ranges', ranges: [merged] }
}

function rangeGone({ ranges }: CollectionRow, number: number): WriterResult {
  const successors = ranges
    .filter(({ parents }) => parents.includes(number))
    .map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
  return { kind: 'rangeGone', range: number, successors }
}

function reportPositions(
  state: TransactionState,
  { collection, positions }: TaskOf<'reportPositions'>,
): WriterResult {
  if (!state.catalog.collections.has(collection)) return { kind: 'missing' }
  storePositions(state.connection, collection, positions)
  return { kind: 'done' }
}

function maintain(
  state: TransactionState,
  task: TaskOf<'maintain'>,
  options: CarryOutOptions & { readonly timeMs: number },
): WriterResult {
  const { connection } = state
  const { timeMs } = options
  const other = takeMaintenanceLease(connection, task, timeMs)
  if (other !== undefined) {
    return { kind: 'maintained', outcome: { kind: 'held', ...other }, touched: [] }
  }
  // The sweeper advances the store's clock, so that what it judged expired stays expired everywhere.
  state.wroteNow()
  const { work } = task
  const present = work && state.catalog.collections.get(work.collection)
  const {
    items,
    more,
    touched = [],
  } = work === undefined || present === undefined
    ? NOTHING_TO_DO
    : doPiece(state, { ...options, work, present, maxItems: task.maxItems })
  return { kind: 'maintained', outcome: { kind: 'done', items, more }, touched }
}

function doPiece(
  state: TransactionState,
  {
    work,
    present,
    maxItems,
    timeMs,
    memory,
    monotonicMs,
  }: CarryOutOptions & {
    readonly work: WireWork
    readonly present: CollectionRow
    readonly maxItems: number
    readonly timeMs: number
  },
): PieceResult {
  const { connection, segments } = state
  const endMs = monotonicMs() + PIECE_MS
  const context: PieceContext = {
    connection,
    segments,
    timeMs,
    maxItems,
    collectionFor: (epk) => state.roomFor(work.collection, epk) ?? present,
    isOverdue: () => monotonicMs() > endMs,
  }
  switch (work.kind) {
    case 'expiryIndex': {
      const result = reindexExpiry(context, present)
      state.reloadCatalog()
      return result
    }
    case 'sweep':
      return sweepExpired(context, present)
    case 'purge': {
      const from = memory.purgeFrom.get(work.collection) ?? 0
      const { resumeAt, ...result } = purgePending(context, present, from)
      memory.purgeFrom.set(work.collection, resumeAt ?? 0)
      return result
    }
    case 'trimVersions': {
      const from = memory.trimFrom.get(work.collection) ?? 0
      const { resumeAt, ...result } = trimVersions(context, present, from)
      memory.trimFrom.set(work.collection, resumeAt ?? 0)
      state.reloadCatalog()
      return result
    }
    case 'fold': {
      // Counters of open segments show up to where the others are read.
      segments.store()
      const result = foldSegments(context, present, work.range ?? -1)
      state.reloadCatalog()
      return result
    }
    default:
      return assertNever(work.kind)
  }
}
