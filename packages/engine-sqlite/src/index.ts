export { openSqliteEngine, SqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'
export type { SqliteDatabase } from './sqlite-database.ts'
