import process from 'node:process'
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite'

/**
 * Opens a file, or `:memory:`, with Node's own SQLite. It is loaded only here, so that an older Node can load the rest
 * and report what it lacks.
 */
export function openSqlite(place: URL | ':memory:', options: DatabaseSyncOptions): DatabaseSync {
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite')
  return new Database(place, options)
}
