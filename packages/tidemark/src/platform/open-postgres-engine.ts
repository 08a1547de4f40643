import type { PostgresEngineOptions } from '@tidemark/engine-postgres'
import type { StorageEngine } from '@tidemark/store'
import { loadPostgresEngine } from './optional-packages.ts'

/**
 * Opens the store in a schema of a PostgreSQL database, or creates one there; see `PostgresEngineOptions`. Any number
 * of processes on any number of machines can have it open at the same time. The first call loads `pg`: programs with a
 * store in a folder do not have it in memory, and need not install it.
 *
 * Rejects with ERR_MISSING_PACKAGE (without `pg`), ERR_STORE_UNAVAILABLE, ERR_STORE_FORMAT, ERR_STORE_IN_USE, ERR_STORE_DAMAGED, ERR_SERVER_UNSUPPORTED,
 * ERR_INVALID_OPTION.
 */
export async function openPostgresEngine(options: PostgresEngineOptions): Promise<StorageEngine> {
  const engines = await loadPostgresEngine()
  return engines.openPostgresEngine(options)
}
