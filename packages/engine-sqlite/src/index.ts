/**
 * The embedded engine: in a folder, or in memory.
 *
 * @packageDocumentation
 * @public
 */

export { openMemoryEngine, type MemoryEngineOptions } from './memory-engine.ts'
export { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'
