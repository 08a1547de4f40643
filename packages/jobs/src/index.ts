/**
 * Jobs on a feed: views, migrations, archives, forwarding, sinks.
 *
 * @packageDocumentation
 * @public
 */

export {
  archiveDocuments,
  type ArchiveDocumentsOptions,
  type ArchiveDocumentsProgress,
  type ArchiveDocumentsReport,
} from './archive/archive-documents.ts'
export type { ArchiveEvent } from './archive/archive-events.ts'
export {
  archiveExpired,
  type ArchiveProgress,
  type ExpiryArchive,
} from './archive/archive-expired.ts'
export { archiveGroup, type ArchiveOptions } from './archive/archive-options.ts'
export { ArchiveDamagedError } from './archive/archive-damaged-error.ts'
export type { ArchivedDocument, ArchiveLine } from './archive/archived-document.ts'
export {
  jsonLinesSink,
  type JsonLinesSink,
  type JsonLinesSinkOptions,
} from './archive/platform/json-lines-sink.ts'
export { readJsonLines } from './archive/platform/read-json-lines.ts'
export type { Sink, SinkContext, SinkSource } from './sync/sink.ts'
export type { SinkEntry } from './sync/sink-entry.ts'
export type { ChangeKind } from './workers/change-identity.ts'
export type { MapChange } from './forwarding/change-message.ts'
export {
  forwardChanges,
  type ChangeForwarding,
  type ForwardProgress,
} from './forwarding/forward-changes.ts'
export type { ForwardEvent } from './forwarding/forward-events.ts'
export type { ForwardOptions, ForwardTarget } from './forwarding/forward-options.ts'
export type { DocumentKey } from './migration/document-key.ts'
export type { MapDocument } from './migration/map-document.ts'
export { migrateCollection, type Migration } from './migration/migrate-collection.ts'
export type { MigrationEvent } from './migration/migration-events.ts'
export type { FeedJobOptions, JobOptions } from './workers/job-options.ts'
export type { RangeLag } from './workers/range-lag.ts'
export type {
  ExpiryOption,
  MigrationOptions,
  MigrationTarget,
} from './migration/migration-options.ts'
export type { MigrationProgress, RangeStatus } from './migration/migration-progress.ts'
export { MigrationTargetError } from './migration/migration-target-error.ts'
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
export { SinkRefusedError } from './sync/sink-refused-error.ts'
export { SinkTargetError } from './sync/sink-target-error.ts'
export { SinkUnavailableError } from './sync/sink-unavailable-error.ts'
export type { SyncEvent } from './sync/sync-events.ts'
export type { SyncOptions } from './sync/sync-options.ts'
export { syncTo, type Sync, type SyncProgress } from './sync/sync-to.ts'
export type { DeletesUnseen } from './workers/unseen-deletes.ts'
export {
  postgresSink,
  type PostgresColumn,
  type PostgresQueries,
  type PostgresSinkOptions,
} from './sync/postgres/postgres-sink.ts'
export { materializeView, type MaterializedView } from './views/materialize-view.ts'
export { openView, type View, type ViewEntry, type ViewValues } from './views/open-view.ts'
export { average, count, latest, max, min, sum, top } from './views/folds/folds.ts'
export type { ExactSum } from './views/folds/exact-sum.ts'
export type { AnyFold, Fold, FoldValue, Folds, RankedFold, Score } from './views/folds/fold.ts'
export type { ViewCounts } from './views/state-documents.ts'
export type { ViewEvent } from './views/view-events.ts'
export type { ViewFunctions, ViewOptions, ViewTarget } from './views/view-options.ts'
export type { SourceView, ViewSource } from './views/view-source.ts'
export type { ViewKey } from './views/view-key.ts'
export { ViewMismatchError } from './views/view-mismatch-error.ts'
export type { ViewProgress } from './views/view-progress.ts'
export { ViewValueError } from './views/view-value-error.ts'
export {
  dropView,
  listViews,
  readViewStatus,
  type ListedView,
  type ViewStatusOptions,
} from './views/view-status.ts'
export {
  verifyView,
  type VerifyViewOptions,
  type ViewDifference,
  type ViewReport,
} from './views/verify-view.ts'
export {
  redisCacheSink,
  type DocumentName,
  type RedisCacheSinkOptions,
} from './sync/redis/redis-cache-sink.ts'
export type { RedisCommands } from './sync/redis/redis-commands.ts'
export {
  redisSortedSetSink,
  type RedisSortedSetSinkOptions,
} from './sync/redis/redis-sorted-set-sink.ts'
export { WebhookSignatureError } from './sync/webhook/webhook-signature-error.ts'
export {
  verifyWebhook,
  type VerifyWebhookOptions,
  type WebhookBody,
  type WebhookEntry,
  type WebhookSecret,
} from './sync/webhook/webhook-signature.ts'
export { webhookSink, type WebhookSinkOptions } from './sync/webhook/webhook-sink.ts'
