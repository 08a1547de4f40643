import type { Clock } from '@tidemark/contracts'

/** A store's clock: it never goes back, and is never below the time of a commit. */
export class StoreClock {
  readonly #clock: Clock
  #highWaterMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(atLeastMs = 0): number {
    const wallMs = Math.floor(this.#clock.wallMs())
    this.#highWaterMs = Math.max(this.#highWaterMs, wallMs, atLeastMs)
    return this.#highWaterMs
  }
}
