import type { Clock } from '@tidemark/contracts'

/** The store's clock: wall time that never goes back, so that `_ts` rises with the LSN. */
export class StoreClock {
  readonly #clock: Clock
  #highWaterMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(): number {
    this.#highWaterMs = Math.max(this.#highWaterMs, Math.floor(this.#clock.wallMs()))
    return this.#highWaterMs
  }
}
