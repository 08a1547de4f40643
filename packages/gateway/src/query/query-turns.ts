import type { Clock } from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'

/** All queries together compute for this long between two turns of the event loop. */
const SLICE_MS = 10

interface WaitingQuery {
  readonly steps: number
  readonly goOn: () => void
}

/**
 * Shares the thread between the queries of one gateway and everybody else. However many queries run at once, only one
 * of them goes on after each turn of the event loop: requests, timers and signals wait for one slice, not for one
 * slice of each query. The query that has computed least goes first, so that small ones do not wait for large ones.
 */
export class QueryTurns {
  readonly #clock: Clock
  readonly #waiting = new Set<WaitingQuery>()
  #last: Promise<void> = Promise.resolve()
  #endMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True when the event loop is due its turn. */
  get due(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs
  }

  /** Resolves when the event loop has come round, and it is the turn of a query that has taken this many steps. */
  take(steps: number): Promise<void> {
    const { promise, resolve: goOn } = Promise.withResolvers<void>()
    this.#waiting.add({ steps, goOn })
    this.#last = this.#resumeOne(this.#last)
    return promise
  }

  async #resumeOne(earlier: Promise<void>): Promise<void> {
    await earlier
    await eventLoopTurn()
    this.#endMs = this.#clock.monotonicMs() + SLICE_MS
    let next: WaitingQuery | undefined
    for (const query of this.#waiting) {
      if (next === undefined || query.steps < next.steps) next = query
    }
    if (next === undefined) return
    this.#waiting.delete(next)
    next.goOn()
  }
}
