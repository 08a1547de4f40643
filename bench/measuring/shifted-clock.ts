import { systemClock, type Clock, type SleepOptions } from '@tidemark/contracts'

/** The machine's clock, with a wall time that can be moved on: expiry without waiting for it. */
export class ShiftedClock implements Clock {
  #aheadMs = 0

  moveOn(seconds: number): void {
    this.#aheadMs += seconds * 1000
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
}
