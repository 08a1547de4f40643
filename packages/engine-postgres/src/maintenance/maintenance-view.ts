import { ResourceNotFoundError, errorCode } from '@tidemark/contracts'
import {
  planFold,
  sharedSegments,
  type MaintenanceTask,
  type MaintenanceView,
  type PositionList,
} from '@tidemark/store/engine'
import type { CollectionName } from '../catalog/collection-cache.ts'
import type { CollectionRow, SegmentRow } from '../catalog/collection-row.ts'
import type { Sql } from '../connection/sql.ts'
import { pendingDeleteAging, versionAging, type Aging } from './aging.ts'
import type { AgingTimes } from './aging-rows.ts'
import { readGroupPositions } from './group-positions.ts'
import { removeDropped } from './remove-dropped.ts'
import { readDatabaseState, type CollectionState } from './database-state.ts'
import type { ReadContext } from '../reader/read-context.ts'

/** Rows of deleted collections that one look removes: some milliseconds of work. */
const REMOVED_ROWS = 5000

/**
 * The work that is due in a database, and when more will be. Also removes some rows that no range has any more: no
 * process uses them, so this needs no lease and does not wait.
 *
 * Rejects with ERR_NOT_FOUND when the database is gone.
 */
export async function readMaintenance(
  context: ReadContext,
  database: number,
): Promise<MaintenanceView> {
  const state = await readDatabaseState(context, database)
  if (state === undefined) throw new ResourceNotFoundError('database', `number ${database}`)
  const { nowMs, holder, untilMs } = state
  context.clock.heard(nowMs)
  if (state.hasDropped) await removeDropped(context, REMOVED_ROWS)
  const tasks: MaintenanceTask[] = []
  const due: number[] = []
  for (const each of state.collections) {
    const collection = await presentCollection(context, each)
    if (collection === undefined) continue
    const positions = await positionsFor(context, { collection, state: each })
    const found = [
      expiry(collection, { state: each, nowMs }),
      purge(collection, { state: each, nowMs, positions }),
      trim(collection, { state: each, nowMs }),
    ]
    for (const { task, dueMs } of found) {
      if (task !== undefined) tasks.push(task)
      if (dueMs !== undefined) due.push(dueMs)
    }
    tasks.push(...folds(collection))
  }
  return {
    tasks: tasks.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)),
    nextDueMs: due.length === 0 ? undefined : Math.min(...due),
    holder: holder === '' || untilMs <= nowMs ? undefined : { name: holder, untilMs },
  }
}

const ORDER: readonly MaintenanceTask['kind'][] = [
  'expiryIndex',
  'sweep',
  'purge',
  'trimVersions',
  'fold',
]

interface Found {
  readonly task?: MaintenanceTask
  /** Store time at which something will be due. */
  readonly dueMs?: number | undefined
}

function expiry(
  { record }: CollectionRow,
  { state: { isReindexing, firstExpiry }, nowMs }: { state: CollectionState; nowMs: number },
): Found {
  if (isReindexing) return { task: { kind: 'expiryIndex', collection: record } }
  if (record.definition.defaultTtl === null || firstExpiry === undefined) return {}
  return firstExpiry * 1000 <= nowMs
    ? { task: { kind: 'sweep', collection: record } }
    : { dueMs: firstExpiry * 1000 }
}

function purge(
  { record }: CollectionRow,
  {
    state: { oldestPending },
    nowMs,
    positions,
  }: {
    readonly state: CollectionState
    readonly nowMs: number
    readonly positions: ReadonlyMap<string, PositionList>
  },
): Found {
  const aging = pendingDeleteAging(record, { positions, nowMs })
  return whenAged(aging, { oldest: oldestPending, task: { kind: 'purge', collection: record } })
}

function trim(
  { record, logged }: CollectionRow,
  { state: { oldestVersions }, nowMs }: { state: CollectionState; nowMs: number },
): Found {
  if (!logged) return {}
  const task = { kind: 'trimVersions', collection: record } as const
  if (record.definition.allVersions === null) return { task }
  return whenAged(versionAging(record, nowMs), { oldest: oldestVersions, task })
}

function whenAged(
  aging: Aging,
  { oldest, task }: { readonly oldest: readonly AgingTimes[]; readonly task: MaintenanceTask },
): Found {
  if (oldest.some((row) => aging.mayGo(row))) return { task }
  let earliestMs = Infinity
  for (const row of oldest) earliestMs = Math.min(earliestMs, aging.dueMs(row) ?? Infinity)
  return { dueMs: earliestMs === Infinity ? undefined : earliestMs }
}

function folds({ record, ranges }: CollectionRow): readonly MaintenanceTask[] {
  if (ranges.every(({ segments }) => segments.length === 1)) return []
  const shared = sharedSegments(ranges)
  const options = { shared, isFolded: ({ folded }: SegmentRow) => folded }
  return ranges
    .filter(({ segments }) => planFold(segments, options) !== undefined)
    .map(({ number: range }) => ({ kind: 'fold', collection: record, range }))
}

async function positionsFor(
  { connections, statements }: ReadContext,
  { collection, state }: { readonly collection: CollectionRow; readonly state: CollectionState },
): Promise<ReadonlyMap<string, PositionList>> {
  if (state.oldestPending.length === 0) return new Map()
  const sql: Sql = { rows: (statement, values) => connections.read(statement, values) }
  return readGroupPositions({ sql, statements }, collection.record)
}

/** Of at least the version that was read; undefined when it has been deleted since. */
async function presentCollection(
  { collections }: ReadContext,
  { number, id, version }: CollectionName & { readonly version: number },
): Promise<CollectionRow | undefined> {
  const known = collections.known(number)
  if (known !== undefined && known.version >= version) return known
  try {
    return await collections.refresh({ number, id })
  } catch (error) {
    if (errorCode(error) === 'ERR_NOT_FOUND') return undefined
    throw error
  }
}
