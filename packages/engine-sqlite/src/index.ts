export { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'
