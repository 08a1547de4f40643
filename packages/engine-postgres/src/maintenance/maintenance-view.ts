import { ResourceNotFoundError, errorCode } from '@tidemark/contracts'
import {
  dueMaintenance,
  type MaintenanceFacts,
  type MaintenanceView,
  type PositionList,
} from '@tidemark/store/engine'
import type { CollectionName } from '../catalog/collection-cache.ts'
import type { CollectionRow, SegmentRow } from '../catalog/collection-row.ts'
import type { Sql } from '../connection/sql.ts'
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
    const positions = await positionsFor(context, { collection, state: each })
    facts.push({ ...each, record, isLogged, ranges, positions })
  }
  return {
    ...dueMaintenance(facts, { nowMs, isFolded: ({ folded }) => folded }),
    holder: holder === '' || untilMs <= nowMs ? undefined : { name: holder, untilMs },
  }
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
