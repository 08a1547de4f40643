export { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'
export { copySqliteStore, markSqliteStoreRestored, type CopiedStore } from './copy-store.ts'
