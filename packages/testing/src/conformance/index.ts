/**
 * A suite of tests for each contract.
 *
 * @packageDocumentation
 * @public
 */

export { leaseStoreConformance } from './lease-store/suite.ts'
export {
  ComparedLeaseGroup,
  type StepAnswer,
  type StepTime,
} from './lease-store/compared-lease-group.ts'
export {
  leaseStep,
  type AcquireStep,
  SHARING_STEPS,
  type LeaseStep,
  type OwnerStep,
  type ReplacementStep,
  type StepCaller,
  type StepPosition,
  type StepWrite,
  type SyncStep,
} from './lease-store/lease-steps.ts'
export {
  identity as hostIdentity,
  newLeases,
  observingGroup,
  ownedGroup,
  position as leasePosition,
  StoreTime,
  syncRequest,
  type LeaseStoreConformance,
  type LeaseStoreUnderTest,
} from './lease-store/fixtures.ts'
export { storageEngineConformance } from './storage-engine/suite.ts'
export type { StorageEngineConformance, StorageEngineUnderTest } from './storage-engine/fixtures.ts'
export { collectionConformance } from './collection/suite.ts'
export type { CollectionConformance, StoreUnderTest } from './collection/fixtures.ts'
export { messagingConformance } from './messaging/suite.ts'
export type { MessagingConformance, MessagingStore } from './messaging/fixtures.ts'
export { messageRowsConformance } from './message-rows/suite.ts'
export type { MessageRowsConformance, MessageRowsUnderTest } from './message-rows/suite.ts'
export type {
  ConnectedClient,
  EntityName,
  MessagingClient,
  MessagingDriver,
  TestedBatch,
  TestedReceiver,
  TestedRule,
  TestedSender,
  TestedSession,
} from './messaging/messaging-client.ts'
