import { systemClock, type Clock, type SleepOptions } from '@tidemark/contracts'

/** The machine's clock, with a wall time that a test moves: what expires does so without being waited for. */
export class ShiftedClock implements Clock {
  #aheadMs: number

  /** @param aheadMs by how much the wall time is ahead from the start; negative = behind. @default 0 */
  constructor(aheadMs = 0) {
    this.#aheadMs = aheadMs
  }

  wallMs(): number {
    return systemClock.wallMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  sleep(delayMs: number, signal: AbortSignal, options?: SleepOptions): Promise<void> {
    return systemClock.sleep(delayMs, signal, options)
  }

  /** Moves the wall time on; negative = the machine's clock is set back. */
  step(byMs: number): void {
    this.#aheadMs += byMs
  }
}
