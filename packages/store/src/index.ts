/**
 * Databases, collections and their feeds.
 *
 * @packageDocumentation
 * @public
 */

export type {
  AllVersionsPolicy,
  CollectionDefinition,
  CollectionRecord,
  PendingDeletePolicy,
  UniqueKey,
} from './engine/catalog.ts'
export type { WriteFence } from './engine/commit.ts'
export type { Horizon } from './engine/horizons.ts'
export type { ExpiryView, MaintenanceTask } from './engine/maintenance.ts'
export type { EngineSupport, StorageEngine } from './engine/storage-engine.ts'

export { Collection } from './collection.ts'
export { Database } from './database.ts'
export { Store, type ListedCollection, type StoreOptions } from './store.ts'
export type {
  AtomicCommitOptions,
  AtomicCommitResult,
  AtomicOperation,
  AtomicWrite,
} from './atomic-commit.ts'
export { type CollectionOptions, type PartitionKeyOption } from './catalog/collection-options.ts'
export {
  type AllVersionsOptions,
  type CollectionSettings,
  type PendingDeleteOptions,
} from './catalog/collection-settings.ts'
export { MAX_TTL_SECONDS } from './engine/expiry.ts'
export type { ReadExpiryOptions } from './catalog/read-expiry.ts'
export type { RangesPage } from './catalog/read-ranges.ts'
export type { TextWriteResult } from './documents/open-collection.ts'
export type { BatchOptions } from './documents/outbox.ts'
export { type ReadTextResult } from './documents/read-document.ts'
export type { TextBatchResult } from './documents/transactional-batch.ts'
export type { DocumentsPage, ReadDocumentsOptions } from './documents/read-documents.ts'
export { AtomicWriteFailedError } from './errors/atomic-write-failed-error.ts'
export { CollectionMismatchError } from './errors/collection-mismatch-error.ts'
export { RangeIndivisibleError } from './errors/range-indivisible-error.ts'
export { WriteConflictError } from './errors/write-conflict-error.ts'
export type { ChangesOptions, ChangesPage } from './feed/changes-options.ts'
export type {
  EventRange,
  StoreEventListener,
  StoreEventName,
  StoreEventSource,
  StoreEvents,
} from './events/store-events.ts'
export type { MaintenanceMode, MaintenanceOptions } from './maintenance/maintenance-options.ts'
export type { HeldElsewhere, MaintenanceReport } from './maintenance/maintenance-report.ts'
