/**
 * What feeds, lease stores, observers and collections are made of, for users and for who writes one of their own.
 *
 * @packageDocumentation
 * @public
 */

export { AddressUnavailableError } from './errors/address-unavailable-error.ts'
export { AllVersionsOffError } from './errors/all-versions-off-error.ts'

export { BadRequestError } from './errors/bad-request-error.ts'
export { BatchFailedError } from './errors/batch-failed-error.ts'
export { CodedError, errorCode } from './errors/coded-error.ts'

export { CommitTooLargeError } from './errors/commit-too-large-error.ts'
export { DocumentTooLargeError } from './errors/document-too-large-error.ts'
export { FencedWriteError } from './errors/fenced-write-error.ts'
export { ForbiddenError } from './errors/forbidden-error.ts'
export { HorizonPassedError } from './errors/horizon-passed-error.ts'
export { HostReplacedError } from './errors/host-replaced-error.ts'
export { HostStoppedError } from './errors/host-stopped-error.ts'

export { GroupOfOtherFeedError, type GroupOfOtherFeed } from './errors/group-of-other-feed-error.ts'
export { InvalidContinuationError } from './errors/invalid-continuation-error.ts'
export { InvalidDocumentError } from './errors/invalid-document-error.ts'
export { InvalidOptionError } from './errors/invalid-option-error.ts'
export { InvalidPartitionKeyError } from './errors/invalid-partition-key-error.ts'
export { InvalidPatchError } from './errors/invalid-patch-error.ts'
export { LeaseLostError } from './errors/lease-lost-error.ts'
export { LeaseStorageError } from './errors/lease-storage-error.ts'
export { LeaseStoreUnavailableError } from './errors/lease-store-unavailable-error.ts'
export { LeaseStoreVolatileError } from './errors/lease-store-volatile-error.ts'
export { LeasesChangedError } from './errors/leases-changed-error.ts'
export { LeasesVanishedError } from './errors/leases-vanished-error.ts'
export { MissingPackageError } from './errors/missing-package-error.ts'
export { NotCaughtUpError } from './errors/not-caught-up-error.ts'
export { ObserverStuckError } from './errors/observer-stuck-error.ts'
export { PartitionKeyMismatchError } from './errors/partition-key-mismatch-error.ts'
export { PreconditionFailedError } from './errors/precondition-failed-error.ts'
export { RangeGoneError } from './errors/range-gone-error.ts'
export {
  ResourceExistsError,
  ResourceNotFoundError,
  type ResourceKind,
} from './errors/resource-errors.ts'
export { SessionAheadError } from './errors/session-ahead-error.ts'
export { StoreClosedError } from './errors/store-closed-error.ts'
export { StoreDamagedError } from './errors/store-damaged-error.ts'
export { StoreFormatError } from './errors/store-format-error.ts'
export { StoreInUseError } from './errors/store-in-use-error.ts'
export { StoreUnavailableError } from './errors/store-unavailable-error.ts'
export { ThrottledError } from './errors/throttled-error.ts'
export { UnauthorizedError } from './errors/unauthorized-error.ts'
export { UniqueKeyError } from './errors/unique-key-error.ts'
export { UnsupportedNodeError } from './errors/unsupported-node-error.ts'
export { UnsupportedServerError } from './errors/unsupported-server-error.ts'

export { type LogFields, type Logger, type LogLevel } from './logging/logger.ts'
export { textLogger } from './logging/text-logger.ts'

export type { Clock, SleepOptions } from './clock.ts'
export type { Random } from './random.ts'

export { systemClock } from './platform/system-clock.ts'
export { systemRandom } from './platform/system-random.ts'

export type {
  EtagConditions,
  BatchOperation,
  BatchResult,
  DeleteResult,
  DocumentCollection,
  PatchOptions,
  ReadOptions,
  ReadResult,
  CommitOptions,
  RequestOptions,
  WriteOptions,
  WriteResult,
} from './documents/document-collection.ts'
export { type DocumentBody, type Stored, type SystemProperties } from './documents/document.ts'

export type { BulkOperation, BulkOutcome } from './documents/bulk.ts'

export type { PatchOperation } from './documents/patch.ts'

export { effectivePartitionKey, divideRange } from './partition-key/effective-partition-key.ts'

export {
  partitionKeyDefinition,
  partitionKeyText,
  type PartitionKey,
  type PartitionKeyComponent,
  type PartitionKeyDefinition,
} from './partition-key/partition-key.ts'

export type { Change, DocumentChange, PendingDeleteChange, VersionChange } from './feed/change.ts'

export type {
  ChangeFeedSource,
  FeedLag,
  DivideRangeRequest,
  FeedLagRequest,
  FeedPage,
  FeedPageRequest,
  FeedPosition,
  FeedStartRequest,
  FeedSupport,
  FeedWaitRequest,
  GroupPosition,
  GroupPositions,
  HeldPosition,
  JoinPositionsRequest,
  PositionAtRequest,
  SourceRange,
} from './feed/change-feed-source.ts'
export { cutPage } from './feed/cut-page.ts'
export { checkedStart, type StartPosition } from './feed/start-position.ts'
export type {
  DeadLetter,
  DeadLetterSink,
  RecordedError,
  SinkCallOptions,
} from './feed/dead-letter.ts'
export {
  assertOfCollection,
  continuationPosition,
  decodeContinuation,
  encodeContinuation,
  type Continuation,
  type ContinuationToken,
  type ExpectedContinuation,
  type FeedMode,
  type RangePosition,
} from './feed/continuation.ts'
export {
  FULL_RANGE,
  commonKeys,
  feedRangeId,
  parseFeedRangeId,
  rangeContains,
  rangeContainsEpk,
  rangesEqual,
  rangesOverlap,
  type FeedRange,
} from './ranges/feed-range.ts'
export { lsn, type Lsn } from './ranges/lsn.ts'
export type {
  CloseReason,
  Fence,
  FeedObserver,
  IChangeFeedObserver,
  ISingleChangeObserver,
  ObserverContext,
  Resynchronization,
} from './feed/observer.ts'
export { pkRangeId, type PartitionKeyRange, type PkRangeId } from './ranges/pk-range.ts'

export {
  inTimeOrder,
  TRANSITIONS_KEPT,
  isHostSummary,
  isLeaseTransition,
  type HostNote,
  type HostSummary,
  type LeaseTransition,
  type LeaseTransitionKind,
} from './leases/host-note.ts'
export {
  checkedGroupName,
  checkedNewLeases,
  checkedReplacement,
  REPLACE_LIMIT,
} from './leases/lease-input.ts'
export {
  type ClaimFeedOptions,
  DIGEST_MODULUS,
  type AcquiredLease,
  type CheckpointOutcome,
  type CheckpointRequest,
  type DurabilityLevel,
  type HeldDigest,
  type ObservedClock,
  type HeldLease,
  type LeaseDurability,
  type LeaseGroup,
  type LeaseHint,
  type LeaseLoss,
  type PlanRequest,
  type LeaseStore,
  type OpenGroupOptions,
  type ReconcileReply,
  type ReleaseRequest,
  type SyncReply,
  type SyncRequest,
} from './leases/lease-store.ts'
export type { AnnouncedPresence, Presence } from './presence.ts'
export {
  type Telemetry,
  type TelemetryCall,
  type TelemetryItem,
  type TracedMessage,
} from './telemetry.ts'

export type {
  BatchAttempts,
  Checkpoint,
  GroupFeed,
  HostIdentity,
  HostProfile,
  HostSession,
  Lease,
  LeaseGroupSnapshot,
  NewLease,
} from './leases/lease.ts'
