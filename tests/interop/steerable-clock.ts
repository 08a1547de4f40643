import { systemClock, type Clock } from '@tidemark/contracts'

/**
 * A clock whose wall time stands still at a whole second until a test puts it forward: what expires does so without
 * being waited for, and never before, however slow the machine is.
 */
export class SteerableClock implements Clock {
  #wallMs = Math.floor(systemClock.wallMs() / 1000) * 1000

  wallMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return systemClock.sleep(delayMs, signal)
  }

  putForward(seconds: number): void {
    this.#wallMs += seconds * 1000
  }
}
