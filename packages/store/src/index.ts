export type {
  AllVersionsPolicy,
  CollectionDefinition,
  CollectionRecord,
  DatabaseRecord,
  PendingDeletePolicy,
  RangeRecord,
  TtlEra,
  UniqueKey,
} from './engine/catalog.ts'
export type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  CommitRequest,
  CommittedBatch,
  WriteCondition,
  WriteFence,
} from './engine/commit.ts'
export { commitChars } from './engine/commit-size.ts'
export type {
  DocumentKey,
  ScanPage,
  ScanPosition,
  ScanQuery,
  StoredRow,
} from './engine/document-query.ts'
export {
  CommitWaits,
  type CommitWait,
  type PlaceCounter,
  type WaitPlace,
} from './engine/commit-waits.ts'
export {
  assertIndexed,
  annotatedDatabase,
  changedRecord,
  type DefinitionChanges,
} from './engine/definition-changes.ts'
export {
  expiredSecond,
  expirySecond,
  neverExpires,
  type ExpiringRow,
  type TtlPolicy,
} from './engine/expiry.ts'
export {
  LIVE_ROW,
  PENDING_DELETE_ROW,
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedCount,
  type FeedCountQuery,
  type FeedPageQuery,
  type FeedRow,
  type FeedStart,
  type RangeCounter,
  type RowKind,
  type StartQuery,
  type VersionRow,
} from './engine/feed-query.ts'
export { refusingEpoch, withFence, type FenceRecord } from './engine/fence-check.ts'
export {
  allArePast,
  positionAt,
  parsePositions,
  positionPart,
  positionsText,
  withPositions,
  type PositionList,
  type PositionPart,
} from './engine/group-positions.ts'
export {
  cutHorizons,
  horizonAt,
  horizonsOf,
  horizonsText,
  parseHorizons,
  raiseHorizon,
  type Horizon,
  type Horizons,
} from './engine/horizons.ts'
export type {
  ExpiryView,
  MaintenanceEngine,
  MaintenanceOutcome,
  MaintenanceTask,
  MaintenanceView,
} from './engine/maintenance.ts'
export {
  planFold,
  sharedSegments,
  type FoldPlan,
  type FoldableSegment,
} from './engine/plan-fold.ts'
export { rangeHolding, rangeNumbered, rangeOfEpk, singleEpkRange } from './engine/range-lookup.ts'
export { collectionRid, databaseRid, recordEtag, ridBytes, ridText } from './engine/resource-ids.ts'
export type {
  DatabaseEngine,
  EngineNotice,
  EngineSupport,
  StorageEngine,
} from './engine/storage-engine.ts'
export { documentEtag, etagLsn, stampBody, ttlUntil } from './engine/stored-body.ts'
export {
  planUniqueEntries,
  uniqueBreach,
  type UniqueBreach,
  type UniqueClaim,
  type UniqueHolder,
  type UniquePlan,
  type UniqueScope,
  type UniqueStep,
} from './engine/unique-entries.ts'
export { conditionHolds } from './engine/write-condition.ts'

export {
  MemoryStorageEngine,
  type MemoryStorageEngineOptions,
} from './memory-engine/memory-storage-engine.ts'

export { Collection } from './collection.ts'
export type { CollectionLocation, FoundCollection } from './collection-finder.ts'
export { Database, type StoreContext } from './database.ts'
export { Store, type StoreOptions } from './store.ts'
export { collectionSelfLink } from './catalog/partition-key-range-list.ts'
export type {
  AtomicCommitOptions,
  AtomicCommitResult,
  AtomicOperation,
  AtomicWrite,
} from './atomic-commit.ts'
export type { CollectionOptions, PartitionKeyOption } from './catalog/collection-options.ts'
export {
  MAX_TTL_SECONDS,
  type AllVersionsOptions,
  type CollectionSettings,
  type PendingDeleteOptions,
} from './catalog/collection-settings.ts'
export type { KnownCollections } from './catalog/known-collections.ts'
export type { ReadExpiryOptions } from './catalog/read-expiry.ts'
export type { RangesPage } from './catalog/read-ranges.ts'
export type {
  DocumentEncoder,
  EncodedDocument,
  EncodedPartitionKey,
} from './documents/document-encoder.ts'
export type { OpenCollection, TextWriteResult } from './documents/open-collection.ts'
export { readPartitionText, type ReadTextResult } from './documents/read-document.ts'
export type { TextBatchResult } from './documents/transactional-batch.ts'
export type { DocumentsPage, ReadDocumentsOptions } from './documents/read-documents.ts'
export { AtomicWriteFailedError } from './errors/atomic-write-failed-error.ts'
export { CollectionMismatchError } from './errors/collection-mismatch-error.ts'
export { RangeIndivisibleError } from './errors/range-indivisible-error.ts'
export { WriteConflictError } from './errors/write-conflict-error.ts'
export type { ChangesOptions, ChangesPage, ChangesStart } from './feed/changes-options.ts'
export type { FeedRowsPage, FeedTextPage } from './feed/read-page.ts'
export type {
  EventRange,
  StoreEventListener,
  StoreEventName,
  StoreEventSource,
  StoreEvents,
} from './events/store-events.ts'
export type { StoreEventEmitter } from './events/store-event-emitter.ts'
export type { MaintenanceMode, MaintenanceOptions } from './maintenance/maintenance-options.ts'
export type { HeldElsewhere, MaintenanceReport } from './maintenance/maintenance-report.ts'
