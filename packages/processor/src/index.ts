/**
 * Hosts that share out a feed, their lease stores, and the administration of groups.
 *
 * @packageDocumentation
 * @public
 */

export { ChangeFeedProcessorHost, type HostStop } from './host/change-feed-processor-host.ts'
export type { CaughtUpRun } from './host/run-until-caught-up.ts'
export type {
  HostEventListener,
  HostEventName,
  HostEvents,
  HostListenerOptions,
  PlacedLease,
} from './host/host-events.ts'
export type { HostHealth, HostStatus, LeaseHealth } from './host/host-health.ts'
export type { HealthSource } from './host/health-answer.ts'
export {
  serveHealth,
  type HealthServer,
  type ServeHealthOptions,
} from './host/platform/serve-health.ts'
export {
  cosmosDefaults,
  type ChangeFeedProcessorHostOptions,
  type FeedOptions,
  type HostOptions,
} from './host/host-options.ts'
export type { CheckpointFrequency, FailurePolicyOptions } from './feed-processing/pump-options.ts'
export type {
  ObserverClassOrInstance,
  ObserverFactory,
  ObserverFunction,
  RegisteredObserver,
} from './observers/observer-factory.ts'
export type {
  ObserverModule,
  ObserverModuleFactory,
  ObserverThreadLimits,
} from './observers/threads/observer-module.ts'
export { ObserverThreadEndedError } from './observers/threads/observer-thread-ended-error.ts'
export {
  ChangeFeedEstimator,
  type CatchUpOptions,
  type ChangeFeedEstimatorOptions,
  type EstimateOptions,
} from './estimation/change-feed-estimator.ts'
export type {
  FeedEstimate,
  LagProblem,
  LeaseEstimate,
  LeaseEstimateState,
} from './estimation/feed-estimate.ts'
export {
  MemoryLeaseStore,
  type LeaseCall,
  type LeaseCallHooks,
  type LeaseOperation,
  type MemoryLeaseStoreOptions,
} from './lease-stores/memory-lease-store.ts'

export {
  DocumentLeaseStore,
  type DocumentLeaseStoreOptions,
} from './lease-stores/documents/document-lease-store.ts'
export {
  DocumentDeadLetters,
  type ChosenDeadLetters,
  type DeadLetterChoice,
  type DeadLettersOutcome,
  type DeadLettersPage,
  type DocumentDeadLettersOptions,
  type ListDeadLettersOptions,
} from './dead-letters/document-dead-letters.ts'
export type { DeadLetterEntry, DeadLetterState } from './dead-letters/dead-letter-documents.ts'
export {
  ProcessorGroup,
  type ProcessorGroupOptions,
  type SeekOptions,
} from './administration/processor-group.ts'
export type { MoveOptions, WaitUntilDrainedOptions } from './administration/while-drained.ts'
export { type GroupHost, type GroupLease, type GroupStatus } from './administration/group-status.ts'
export type { MovedLease } from './administration/move-positions.ts'
export {
  type PositionsSnapshot,
  type SnapshotPosition,
} from './administration/positions-snapshot.ts'
