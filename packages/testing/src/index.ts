/**
 * Time, feeds and hosts under the control of a test.
 *
 * @packageDocumentation
 * @public
 */

export { FakeFeed, type FakeFeedOptions } from './fake-feed.ts'
export type { FakeDocument } from './fake-feed-range.ts'
export { FakeGroupPositions } from './fake-group-positions.ts'
export { openMemoryEngine } from '@tidemark/engine-sqlite'
export { openMemoryStore } from './open-memory-store.ts'
export { settle } from './platform/settle.ts'
export { ShiftedClock } from './shifted-clock.ts'
export { SteppedClock } from './stepped-clock.ts'
export { SimulatedClock, type SimulatedClockOptions } from './simulated-clock.ts'
export {
  FakeDocumentCollection,
  type FakeDocumentCollectionOptions,
} from './fake-document-collection.ts'
export {
  Fleet,
  type Behaviour,
  type Delivery,
  type FleetHost,
  type FleetOptions,
  type ObserverCall,
  type StartOptions,
} from './fleet/fleet.ts'
export { assertFleetHistory, assertNoStaleOwner } from './fleet/oracles.ts'
export {
  GatedClock,
  GatedFeed,
  GatedLeaseStore,
  ProcessGate,
  type LinkState,
} from './fleet/process-gate.ts'
export { ReadLedger, type Reads } from './platform/read-ledger.ts'
