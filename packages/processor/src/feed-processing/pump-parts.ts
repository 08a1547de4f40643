import type {
  ChangeFeedSource,
  Clock,
  DeadLetterSink,
  DocumentBody,
  Random,
  Telemetry,
} from '@tidemark/contracts'
import type { BatchObserver } from './batch-observer.ts'
import type { PumpSeat } from '../lease-management/pump-seat.ts'
import type { Bell } from './bell.ts'
import type { FenceWatch } from './fence-watch.ts'
import type { PumpEnding } from './pump-ending.ts'
import type { PumpNotice } from './pump-events.ts'
import type { ObserverQueue, PumpOptions } from './pump-options.ts'
import type { SuspectTurns } from './suspect-turns.ts'

/** What a pump gets of its host. */
export interface HostParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly createObserver: () => BatchObserver<T>
  readonly deadLetters: DeadLetterSink<T> | undefined
  /** Bounds the observer calls of the host that run at the same time. */
  readonly queue: ObserverQueue
  readonly turns: SuspectTurns
  readonly telemetry: Telemetry | undefined
  readonly clock: Clock
  readonly random: Random
  readonly options: PumpOptions
  readonly onNotice: (notice: PumpNotice) => void
}

/** What all that works on one lease has in common. */
export interface PumpParts<T extends DocumentBody> extends HostParts<T> {
  /** The lease, and where its position is stored. */
  readonly seat: PumpSeat
  /** Rings when something has happened that somebody may wait for. */
  readonly bell: Bell
  readonly ending: PumpEnding
  readonly fence: FenceWatch
}
