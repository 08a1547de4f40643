import type { CollectionCache } from '../catalog/collection-cache.ts'
import type { Connections } from '../connection/connections.ts'
import type { Statements } from '../connection/statements.ts'
import type { StoreClock } from '../store-clock.ts'

/** The context of all reads of one store. */
export interface ReadContext {
  readonly connections: Connections
  readonly statements: Statements
  readonly collections: CollectionCache
  readonly clock: StoreClock
  /** Whether feeds are read from a server that follows the primary. */
  readonly hasReplica: boolean
}

/**
 * Store time within a statement, epoch ms: the server's clock, but never below what the database has stored, or what
 * this process last received, which is the statement's parameter of that number.
 */
export function storeTime(parameter: number): string {
  return `greatest(b.clock, $${parameter}::bigint, :now)`
}

/**
 * Condition for rows `d` of kind 0 that have not expired, given `h` with the columns now_ms, exact, default_ttl and
 * eras. The column `exp` is exact except while documents are refiled after a change of `defaultTtl`.
 */
export const IS_LIVE = `(CASE WHEN h.exact THEN d.exp = 0 OR d.exp * 1000 > h.now_ms
  ELSE :schema.expired_second(d.ts, d.ttl, h.default_ttl, h.eras, h.now_ms) = 0 END)`

/** The single row `h` of such a statement: of collection $1, with the store time of parameter $2. */
export const COLLECTION_HEAD: string = `
SELECT ${storeTime(2)} AS now_ms, c.reindex IS NULL AS exact, c.default_ttl, c.eras, c.version
FROM :schema.collection c JOIN :schema.database b ON b.number = c.db WHERE c.number = $1`
