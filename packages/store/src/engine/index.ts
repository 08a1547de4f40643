/**
 * The contract of storage engines, the rules that they share, and what the gateway calls.
 *
 * @packageDocumentation
 * @internal
 */

export {
  horizonsAfter,
  pendingDeleteAging,
  removableRows,
  versionAging,
  type Aging,
  type AgingKind,
  type AgingTimes,
} from './aging.ts'
export type {
  AllVersionsPolicy,
  CollectionDefinition,
  CollectionRecord,
  DatabaseRecord,
  PendingDeletePolicy,
  RangeRecord,
  TtlEra,
  UniqueKey,
} from './catalog.ts'
export type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  CommitRequest,
  CommittedBatch,
  UniqueBreach,
  UniqueStep,
  WriteCondition,
  WriteFence,
} from './commit.ts'
export { commitChars } from './commit-size.ts'
export type { DocumentKey, ScanPage, ScanPosition, ScanQuery } from './document-query.ts'
export { CommitWaits, type CommitWait, type PlaceCounter, type WaitPlace } from './commit-waits.ts'
export { annotatedDatabase, changedRecord, type DefinitionChanges } from './definition-changes.ts'
export { dueMaintenance, type MaintenanceFacts } from './due-maintenance.ts'
export {
  expiredSecond,
  expirySecond,
  neverExpires,
  ttlUntil,
  type ExpiringRow,
  type TtlPolicy,
} from './expiry.ts'
export {
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedCount,
  type FeedCountQuery,
  type FeedPageQuery,
  type FeedStart,
  type RangeCounter,
  type StartQuery,
} from './feed-query.ts'
export { refusingEpoch, withFence, type FenceRecord } from './fence-check.ts'
export {
  allArePast,
  parsePositions,
  positionPart,
  positionsText,
  withPositions,
  type PositionList,
  type PositionPart,
} from './group-positions.ts'
export {
  cutHorizons,
  horizonAt,
  horizonsOf,
  horizonsText,
  parseHorizons,
  raiseHorizon,
  type Horizon,
  type Horizons,
} from './horizons.ts'
export type {
  ExpiryView,
  MaintenanceEngine,
  MaintenanceOutcome,
  MaintenanceTask,
  MaintenanceView,
} from './maintenance.ts'
export {
  planCommit,
  type CommitPlace,
  type CommitPlan,
  type CommitView,
  type PlannedBatch,
  type PlannedDelete,
  type PlannedExpiry,
  type PlannedPut,
  type PresentDocument,
} from './plan-commit.ts'
export { planFold, sharedSegments, type FoldPlan, type FoldableSegment } from './plan-fold.ts'
export {
  positionWithin,
  rangeHolding,
  rangeNumbered,
  rangeOfEpk,
  singleEpkRange,
} from './range-lookup.ts'
export {
  collectionRid,
  collectionSelfLink,
  databaseRid,
  recordEtag,
  ridBytes,
} from './resource-ids.ts'
export type {
  DatabaseEngine,
  EngineNotice,
  EngineSupport,
  StorageEngine,
} from './storage-engine.ts'
export { StoreClock, type NotedClock } from './store-clock.ts'
export {
  planUniqueEntries,
  uniqueBreach,
  type UniqueClaim,
  type UniqueHolder,
  type UniquePlan,
  type UniqueScope,
} from './unique-entries.ts'
export { conditionHolds } from './write-condition.ts'
export { UniqueEntries } from '../documents/unique-entries.ts'
export type { EncodedPartitionKey } from '../documents/document-encoder.ts'
export type { OpenCollection } from '../documents/open-collection.ts'
export type { FeedRowsPage } from '../feed/read-page.ts'
export { MAX_PARTITION_COUNT } from '../catalog/collection-options.ts'
export { isTtl } from '../catalog/collection-settings.ts'
export { readPartitionText } from '../documents/read-document.ts'
export { resolveItemCount } from '../paging/item-count.ts'
