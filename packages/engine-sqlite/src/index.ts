export { openMemoryEngine, type MemoryEngineOptions } from './memory-engine.ts'
export { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'
export { isStoreOpenToEverybody } from './folder/store-access.ts'
export { copySqliteStore, markSqliteStoreRestored, type CopiedStore } from './copy-store.ts'
