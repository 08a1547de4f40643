import type { Change, DocumentBody, FeedObserver } from '@tidemark/contracts'
import type { FaultClass, FaultKind } from '../schedule/fault.ts'
import type { HostSettings, Schedule } from '../schedule/schedule.ts'
import type { SeededRandom } from '../time/seeded-random.ts'
import type { SimulatedWorker } from './simulated-worker.ts'

/** Makes the observer of one range in one process; called again for each lease. */
export type SimulatedObserverFactory<T extends DocumentBody, World> = (
  worker: SimulatedWorker<World>,
) => FeedObserver<T>

export interface SimulateObserverOptions<T extends DocumentBody, World> {
  readonly feed: SimulatedDocuments<T>
  /** What is outside of all processes, new for each schedule. */
  readonly world: () => World
  /**
   * Throws when the world is not as it should be. Called once per schedule, when all faults are over and every change was
   * processed.
   */
  readonly check: (outcome: SimulationOutcome<T, World>) => void | Promise<void>
  /**
   * Which faults there are; each schedule has some of them. `[]` for none. @default all but `operator`, who sets leases back
   */
  readonly faults?: readonly FaultClass[] | undefined
  /**
   * How many schedules: those of the seeds from 1. Or which ones: seeds, and schedules that a failure told of.
   * @range 1 or more @default 200, some seconds
   */
  readonly seeds?: number | readonly (number | Schedule)[] | undefined
  /**
   * How the hosts work: name here what yours do. @default retryForever, one key at a time, no watchdog, and the frequency of
   * checkpoints by chance
   */
  readonly hostSettings?: Partial<HostSettings> | undefined
}

/** The monitored collection. */
export interface SimulatedDocuments<T extends DocumentBody> {
  /**
   * What is written, one commit each, in this order at times by chance. Each version of a document is delivered: a real
   * feed in latest-version mode may skip all but the newest.
   */
  readonly documents: readonly T[] | ((random: SeededRandom) => readonly T[])
  readonly partitionKey: (document: T) => string
}

export interface SimulationOutcome<T extends DocumentBody, World> {
  readonly seed: number
  readonly world: World
  /** All that was written, in the order of the commits. */
  readonly changes: readonly Change<T>[]
  /** Changes that were given up, where the failure policy is `deadLetter`. */
  readonly deadLetters: readonly Change<T>[]
}

/** What happened in all schedules together. See that it was something: faults that never struck show nothing. */
export interface SimulationReport {
  readonly schedules: number
  readonly changes: number
  /** Changes handed to observers. */
  readonly delivered: number
  /** Of them those that some observer had been handed before. */
  readonly deliveredAgain: number
  /** Faults that hit something, by kind. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  /** Simulated time. */
  readonly simulatedMs: number
}
