/**
 * Your observer, and whole groups, under faults in virtual time.
 *
 * @packageDocumentation
 * @public
 */

export { CLASS_OF_KIND, FAULT_CLASSES } from './schedule/fault.ts'
export type { Fault, FaultAction, FaultClass, FaultKind } from './schedule/fault.ts'
export { generateSchedule } from './schedule/generate-schedule.ts'
export type { HostSettings, LeaseStoreKind, Schedule } from './schedule/schedule.ts'
export { runSchedule, type RunResult } from './run-schedule.ts'
export type { Violation } from './oracles/oracle.ts'
export { shrinkSchedule, type FailedSchedule } from './shrink-schedule.ts'
export { traceText, type TraceEntry } from './time/trace.ts'
export { useLightAbort } from './platform/light-abort.ts'
export { SimulationFailedError, type SimulationFailure } from './errors/simulation-failed-error.ts'
export type { SimulatedWorker } from './users/simulated-worker.ts'
export { simulateObserver } from './users/simulate-observer.ts'
export type {
  SimulatedDocuments,
  SimulatedObserverFactory,
  SimulateObserverOptions,
  SimulationOutcome,
  SimulationReport,
} from './users/simulate-options.ts'
export { SeededRandom } from './time/seeded-random.ts'
