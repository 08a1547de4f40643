import type { PostgresEngineOptions } from '@tidemark/engine-postgres'
import type { StorageEngine } from '@tidemark/store'

/**
 * Opens the store in a schema of a PostgreSQL database, or makes one there; see `PostgresEngineOptions`. Any number
 * of processes on any number of machines may have the same one open. `pg` is loaded by the first call: programs
 * with a store in a folder do not have it in memory.
 *
 * Rejects with ERR_STORE_UNAVAILABLE, ERR_STORE_FORMAT, ERR_STORE_IN_USE, ERR_STORE_DAMAGED,
 * ERR_SERVER_UNSUPPORTED, ERR_INVALID_OPTION.
 */
export async function openPostgresEngine(options: PostgresEngineOptions): Promise<StorageEngine> {
  const engines = await import('@tidemark/engine-postgres')
  return engines.openPostgresEngine(options)
}
