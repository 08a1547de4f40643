import type { Clock } from '@tidemark/contracts'
import { eventLoopTurn } from './platform/event-loop-turn.ts'

/** All queries together compute for this long between two turns of the event loop. */
const SLICE_MS = 10

/**
 * Shares the thread between the queries of one gateway and everybody else. However many queries run at once, only one
 * of them goes on after each turn of the event loop: requests, timers and signals wait for one slice, not for one
 * slice of each query.
 */
export class QueryTurns {
  readonly #clock: Clock
  #last: Promise<void> = Promise.resolve()
  #endMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True when the event loop is due its turn. */
  get due(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs
  }

  /** Resolves after the event loop has come round for this caller, behind those who asked earlier. */
  take(): Promise<void> {
    this.#last = this.#takeAfter(this.#last)
    return this.#last
  }

  async #takeAfter(earlier: Promise<void>): Promise<void> {
    await earlier
    await eventLoopTurn()
    this.#endMs = this.#clock.monotonicMs() + SLICE_MS
  }
}
