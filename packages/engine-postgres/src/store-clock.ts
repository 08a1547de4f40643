import type { Clock } from '@tidemark/contracts'

/**
 * The store's clock as this process knows it. It is the server's (settled: one clock for all machines); where
 * the caller passes one, each process has its own, and every commit tells the others how far it is.
 */
export class StoreClock {
  /** Whether this process' clock is the store's, in place of the server's. */
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

  /** What every statement is given as the least: the highest store time that was heard of. */
  atLeastMs(): number {
    return this.isOwn ? this.nowMs() : this.#highestMs
  }

  /** Epoch ms; never goes back. Of the server's clock an estimate, until it is heard of again. */
  nowMs(): number {
    const estimate =
      this.isOwn || this.#serverMs === undefined
        ? Math.floor(this.#clock.wallMs())
        : Math.floor(this.#serverMs + this.#clock.monotonicMs() - this.#heardAtMs)
    this.#estimatedMs = Math.max(this.#estimatedMs, this.#highestMs, estimate)
    return this.#estimatedMs
  }

  /** Takes note of a time that the server answered with. */
  heard(storeMs: number): void {
    if (storeMs < this.#highestMs) return
    this.#highestMs = storeMs
    this.#serverMs = storeMs
    this.#heardAtMs = this.#clock.monotonicMs()
  }
}
