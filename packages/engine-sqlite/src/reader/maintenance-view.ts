import {
  dueMaintenance,
  type AgingKind,
  type AgingTimes,
  type MaintenanceFacts,
  type MaintenanceView,
} from '@tidemark/store/engine'
import type { CatalogRows, CollectionRow, SegmentRow } from '../connection/catalog-rows.ts'
import type { Connection } from '../connection/connection.ts'
import { readMaintenanceLease } from '../writer/maintenance/maintenance-lease.ts'
import { lowestRows } from '../writer/maintenance/oldest-rows.ts'
import { groupPositions } from '../writer/maintenance/purge-pending.ts'

const FIRST_EXPIRY = `SELECT min(exp) FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0`
const ANY_PENDING =
  'SELECT 1 FROM doc INDEXED BY pending WHERE coll = ? AND kind = 1 AND seq > 0 LIMIT 1'
/** Ranges whose oldest rows one look reads. */
const RANGES_A_LOOK = 500

/** The work that is due in a database, and when more will be. */
export class MaintenanceViews {
  /** Index of the range at which the next look begins, by collection. */
  readonly #nextFrom: Readonly<Record<AgingKind, Map<number, number>>> = {
    pendingDeletes: new Map(),
    versions: new Map(),
  }

  read(connection: Connection, catalog: CatalogRows, nowMs: number): MaintenanceView {
    const facts = [...catalog.collections.values()].map((each) => this.#factsOf(connection, each))
    const lease = readMaintenanceLease(connection, nowMs)
    return {
      ...dueMaintenance(facts, { nowMs, isFolded: ({ dense }) => dense }),
      holder: lease && { name: lease.holder, untilMs: lease.untilMs },
    }
  }

  #factsOf(connection: Connection, collection: CollectionRow): MaintenanceFacts<SegmentRow> {
    const { record, reindex, logged, ranges } = collection
    const firstExpiry = connection.get(FIRST_EXPIRY, record.number)?.[0]
    // Most collections have none, and this runs every second.
    const hasPending = connection.get(ANY_PENDING, record.number) !== undefined
    return {
      record,
      isReindexing: reindex !== undefined,
      firstExpiry: typeof firstExpiry === 'number' ? firstExpiry : undefined,
      lowestPending: hasPending ? this.#lowest(connection, collection, 'pendingDeletes') : [],
      positions: hasPending ? groupPositions(connection, record) : new Map(),
      isLogged: logged,
      lowestVersions: logged ? this.#lowest(connection, collection, 'versions') : [],
      ranges,
    }
  }

  /** The lowest rows of some of the ranges. The next look continues after them. */
  *#lowest(
    connection: Connection,
    { record: { number: collection }, ranges }: CollectionRow,
    kind: AgingKind,
  ): Generator<readonly AgingTimes[], void, undefined> {
    const nextFrom = this.#nextFrom[kind]
    const from = ranges.length <= RANGES_A_LOOK ? 0 : (nextFrom.get(collection) ?? 0)
    const next = from + RANGES_A_LOOK
    nextFrom.set(collection, next >= ranges.length ? 0 : next)
    for (const range of ranges.slice(from, next)) {
      yield lowestRows(connection, range, { kind, collection })
    }
  }
}
