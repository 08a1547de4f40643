/**
 * The engine on PostgreSQL.
 *
 * @packageDocumentation
 * @public
 */

export { openPostgresEngine } from './postgres-engine.ts'
export type { PostgresEngineOptions } from './options.ts'
export {
  checkPostgresStore,
  initPostgresStore,
  migratePostgresStore,
  type PostgresStoreLocation,
  type PostgresStoreSchema,
} from './manage-store.ts'
export type {
  PostgresAnswer,
  PostgresClient,
  PostgresPool,
  PostgresPoolOptions,
  PostgresQuery,
  PostgresTypes,
  PostgresValue,
} from './connection/postgres-pool.ts'
