/**
 * Copies of a folder, for the command.
 *
 * @packageDocumentation
 * @internal
 */

export { isStoreOpenToEverybody } from './store-access.ts'
export { copySqliteStore, markSqliteStoreRestored, type CopiedStore } from './copy-store.ts'
