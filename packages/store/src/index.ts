export type {
  CollectionDefinition,
  CollectionRecord,
  DatabaseRecord,
  RangeRecord,
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
export type {
  DocumentKey,
  ScanPage,
  ScanPosition,
  ScanQuery,
  StoredRow,
} from './engine/document-query.ts'
export {
  LIVE_ROW,
  PENDING_DELETE_ROW,
  type EngineFeedPage,
  type FeedPageQuery,
  type FeedRow,
  type FeedStart,
  type RangeCounter,
  type RowKind,
} from './engine/feed-query.ts'
export { refusingEpoch, withFence, type FenceRecord } from './engine/fence-check.ts'
export { rangeHolding, rangeOfEpk, singleEpkRange } from './engine/range-lookup.ts'
export { collectionRid, databaseRid, recordEtag, ridBytes, ridText } from './engine/resource-ids.ts'
export type { DatabaseEngine, EngineSupport, StorageEngine } from './engine/storage-engine.ts'
export { documentEtag, etagLsn, stampBody } from './engine/stored-body.ts'
export { conditionHolds } from './engine/write-condition.ts'

export {
  MemoryStorageEngine,
  type MemoryStorageEngineOptions,
} from './memory-engine/memory-storage-engine.ts'
