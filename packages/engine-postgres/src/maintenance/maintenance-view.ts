import { ResourceNotFoundError, errorCode } from '@tidemark/contracts'
import {
  dueMaintenance,
  pendingDeleteAging,
  rangeOfEpk,
  versionAging,
  type Aging,
  type AgingTimes,
  type MaintenanceFacts,
  type MaintenanceView,
  type PositionList,
} from '@tidemark/store/engine'
import type { CollectionName } from '../catalog/collection-cache.ts'
import type { CollectionRow, SegmentRow } from '../catalog/collection-row.ts'
import type { Sql } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'
import { oldestRows } from './aging-rows.ts'
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
  const facts: MaintenanceFacts<SegmentRow>[] = []
  for (const each of state.collections) {
    const collection = await presentCollection(context, each)
    if (collection === undefined) continue
    const { record, logged: isLogged, ranges } = collection
    const { isReindexing, firstExpiry, oldestPending, oldestVersions } = each
    const positions = await positionsFor(context, { collection, state: each })
    facts.push({
      record,
      isReindexing,
      firstExpiry,
      lowestPending: await lowestRows(context, collection, {
        aging: pendingDeleteAging(record, { positions, nowMs }),
        oldest: oldestPending,
      }),
      positions,
      isLogged,
      lowestVersions: await lowestRows(context, collection, {
        aging: versionAging(record, nowMs),
        oldest: oldestVersions,
      }),
      ranges,
    })
  }
  return {
    ...dueMaintenance(facts, { nowMs, isFolded: ({ folded }) => folded }),
    holder: holder === '' || untilMs <= nowMs ? undefined : { name: holder, untilMs },
  }
}

/**
 * With the rows that have the LSN of a range's oldest one, and so go with it or not at all: after a merge they may be
 * younger. They are read only where the oldest may go, up to the first range that has something to remove.
 */
async function lowestRows(
  context: ReadContext,
  { record, ranges }: CollectionRow,
  { aging, oldest }: { readonly aging: Aging; readonly oldest: readonly AgingTimes[] },
): Promise<readonly (readonly AgingTimes[])[]> {
  const lowest: (readonly AgingTimes[])[] = []
  const place = { kind: aging.kind, collection: record.number, limit: 1 }
  for (const row of oldest) {
    const range = rangeOfEpk(ranges, row.epk)
    const isOwn = range.segments.length === 1
    const rows = isOwn || !aging.mayGo(row) ? [] : await oldestRows(readsOf(context), range, place)
    lowest.push(rows.length === 0 ? [row] : rows)
    if (lowest.at(-1)?.every((each) => aging.mayGo(each))) break
  }
  return lowest
}

function readsOf({ connections, statements }: ReadContext): { sql: Sql; statements: Statements } {
  return { sql: { rows: (statement, values) => connections.read(statement, values) }, statements }
}

async function positionsFor(
  context: ReadContext,
  { collection, state }: { readonly collection: CollectionRow; readonly state: CollectionState },
): Promise<ReadonlyMap<string, PositionList>> {
  if (state.oldestPending.length === 0) return new Map()
  return readGroupPositions(readsOf(context), collection.record)
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
