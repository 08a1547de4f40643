export type { DocumentKey } from './migration/document-key.ts'
export type { MapDocument } from './migration/map-document.ts'
export { migrateCollection, type Migration } from './migration/migrate-collection.ts'
export type { MigrationEvent } from './migration/migration-events.ts'
export type { RangeLag } from './migration/migration-lag.ts'
export type { MigrationOptions, MigrationTarget } from './migration/migration-options.ts'
export type { MigrationProgress, RangeStatus } from './migration/migration-progress.ts'
export { MigrationTargetError } from './migration/migration-target-error.ts'
export type { WaitOptions } from './migration/migration-watch.ts'
export type { MigrationCounts } from './migration/state-documents.ts'
export {
  watchMigration,
  type WatchMigrationOptions,
  type WatchedMigration,
} from './migration/watch-migration.ts'
export {
  verifyMigration,
  type Findings,
  type VerifyOptions,
  type VerifyProgress,
  type VerifyReport,
} from './verification/verify-migration.ts'
