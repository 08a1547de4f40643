/**
 * The pure operations of a lease group, which lease stores are tested against.
 *
 * @packageDocumentation
 * @internal
 */

export {
  applyChanges,
  newGroupState,
  readGroup,
  type ClockAhead,
  type ClockPoint,
  type GroupHead,
  type LeaseGroupChanges,
  type LeaseGroupState,
  type LeaseGroupStep,
  type LeaseRecord,
  type SessionRecord,
} from './lease-group-state.ts'
export { planGroup, setGroupPaused, syncGroup } from './membership-model.ts'
export {
  acquireLeases,
  checkpointLeases,
  reconcileLeases,
  releaseLeases,
} from './ownership-model.ts'
export { overrideLeases, replaceLeases, type ReplaceRequest } from './replace-model.ts'
export { LeaseMemory } from './lease-memory.ts'
export { leaseStoreOn } from './memory-lease-store.ts'
export {
  claimGroupFeed,
  createLeases,
  declareLeasesLost,
  discardLeases,
} from './lease-set-model.ts'
