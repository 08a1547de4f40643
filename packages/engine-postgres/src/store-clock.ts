import type { Clock } from '@tidemark/contracts'

/**
 * The store's clock in this process. It is the server's (decision 0022: one clock for all machines). If the caller passes a
 * clock, each process has its own, and every commit stores its time for the others.
 */
export class StoreClock {
  /** Whether this process' clock is used instead of the server's. */
  readonly isOwn: boolean
  readonly #clock: Clock
  #highestMs = 0
  #estimatedMs = 0
  #serverMs: number | undefined
  #heardAtMs = 0

  constructor(clock: Clock, source: 'server' | 'own') {
    this.#clock = clock
    this.isOwn = source === 'own'
  }

  /** The minimum time of every statement: the highest store time that was received. */
  atLeastMs(): number {
    return this.isOwn ? this.nowMs() : this.#highestMs
  }

  /** Epoch ms; never goes back. For the server's clock, an estimate until the next answer. */
  nowMs(): number {
    const estimate =
      this.isOwn || this.#serverMs === undefined
        ? Math.floor(this.#clock.wallMs())
        : Math.floor(this.#serverMs + this.#clock.monotonicMs() - this.#heardAtMs)
    this.#estimatedMs = Math.max(this.#estimatedMs, this.#highestMs, estimate)
    return this.#estimatedMs
  }

  /** Records a time from an answer of the server. */
  heard(storeMs: number): void {
    if (storeMs < this.#highestMs) return
    this.#highestMs = storeMs
    this.#serverMs = storeMs
    this.#heardAtMs = this.#clock.monotonicMs()
  }
}
