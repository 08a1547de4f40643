import { systemClock, type Clock } from '@tidemark/contracts'

/** The machine's clock, which a test may put forward: what expires does so without being waited for. */
export class SteerableClock implements Clock {
  #aheadMs = 0

  wallMs(): number {
    return systemClock.wallMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return systemClock.sleep(delayMs, signal)
  }

  putForward(seconds: number): void {
    this.#aheadMs += seconds * 1000
  }
}
