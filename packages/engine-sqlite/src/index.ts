export { openMemoryEngine, type MemoryEngineOptions } from './memory-engine.ts'
export { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'
