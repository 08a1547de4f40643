import type { Clock } from '@tidemark/contracts'
import { StoreClock as OwnClock } from '@tidemark/store/engine'

/** The server answers with a time that it told this long ago, or longer: its own clock is behind the store's, ms. */
const BEHIND_MS = 50

/**
 * The store's clock in this process. It is the server's (decision 0022: one clock for all machines). If the caller passes a
 * clock, each process has its own, and every commit stores its time for the others. Where the clock is behind the time of the
 * store, since it was set ahead and back, the store's goes on by the monotonic clocks of its processes, so that times to live end.
 */
export class StoreClock {
  /** Whether this process' clock is used instead of the server's. */
  readonly isOwn: boolean
  readonly #clock: Clock
  readonly #own: OwnClock
  #highestMs = 0
  #estimatedMs = 0
  #serverMs: number | undefined
  #heardAtMs = 0
  /** The highest minimum that a statement was given. */
  #askedMs = 0
  #isServerBehind = false

  constructor(clock: Clock, source: 'server' | 'own') {
    this.#clock = clock
    this.#own = new OwnClock(clock)
    this.isOwn = source === 'own'
  }

  /** The minimum time of every statement: the highest store time that was received. */
  atLeastMs(): number {
    this.#askedMs = this.isOwn || this.#isServerBehind ? this.nowMs() : this.#highestMs
    return this.#askedMs
  }

  /** Epoch ms; never goes back. For the server's clock, an estimate until the next answer. */
  nowMs(): number {
    const estimate =
      this.isOwn || this.#serverMs === undefined
        ? this.#own.nowMs(this.#highestMs)
        : Math.floor(this.#serverMs + this.#clock.monotonicMs() - this.#heardAtMs)
    this.#estimatedMs = Math.max(this.#estimatedMs, this.#highestMs, estimate)
    return this.#estimatedMs
  }

  /** Records a time from an answer of the server. */
  heard(storeMs: number): void {
    if (storeMs < this.#highestMs) return
    const atMs = this.#clock.monotonicMs()
    this.#highestMs = storeMs
    // A time that a statement was given as its minimum says nothing of the server's.
    if (storeMs <= this.#askedMs) {
      if (atMs >= this.#heardAtMs + BEHIND_MS) this.#isServerBehind = true
      return
    }
    this.#isServerBehind = false
    this.#serverMs = storeMs
    this.#heardAtMs = atMs
  }
}
