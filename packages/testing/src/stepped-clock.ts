import { systemClock, type Clock, type SleepOptions } from '@tidemark/contracts'

/** An engine's own pauses are shorter, and end by themselves. */
const LONG_MS = 1_000

/**
 * The clock of a store under test: wall time stands still until the test steps it, so that a test says to
 * the millisecond when something expires. Intervals and sleeps are the machine's.
 */
export class SteppedClock implements Clock {
  #wallMs: number
  #sleeping = 0

  /** @param startWallMs epoch ms. @default 2026-01-01T00:00:00Z */
  constructor(startWallMs = 1_767_225_600_000) {
    this.#wallMs = startWallMs
  }

  wallMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  async sleep(delayMs: number, signal: AbortSignal, options?: SleepOptions): Promise<void> {
    const isCounted = options?.purpose !== 'background' && delayMs >= LONG_MS
    if (isCounted) this.#sleeping++
    try {
      await systemClock.sleep(delayMs, signal, options)
    } finally {
      if (isCounted) this.#sleeping--
    }
  }

  /** How many sleep in the foreground now, for a second or longer. */
  get sleeping(): number {
    return this.#sleeping
  }

  /** Lets wall time pass; negative = the machine's clock is set back. */
  step(byMs: number): void {
    this.#wallMs += byMs
  }

  /** Steps to a time, epoch ms. */
  stepTo(wallMs: number): void {
    this.#wallMs = wallMs
  }
}
