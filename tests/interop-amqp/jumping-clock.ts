import { systemClock, type Clock, type SleepOptions } from '@tidemark/contracts'

/**
 * A clock that goes as the machine's does, and jumps ahead when a test says so. Periods of minutes pass at once, and are still
 * far longer than a slow machine needs to get there without the jump.
 */
export class JumpingClock implements Clock {
  #aheadMs = 0
  #jumped = new AbortController()

  wallMs(): number {
    return systemClock.wallMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs
  }

  async sleep(delayMs: number, signal: AbortSignal, options?: SleepOptions): Promise<void> {
    const endMs = this.monotonicMs() + delayMs
    for (let leftMs = Math.max(0, delayMs); ;) {
      const jumped = this.#jumped.signal
      try {
        await systemClock.sleep(leftMs, AbortSignal.any([signal, jumped]), options)
        return
      } catch (error) {
        signal.throwIfAborted()
        if (!jumped.aborted) throw error
      }
      leftMs = endMs - this.monotonicMs()
      if (leftMs <= 0) return
    }
  }

  /** Wakes whoever has slept long enough by that. */
  jump(ms: number): void {
    this.#aheadMs += ms
    const jumped = this.#jumped
    this.#jumped = new AbortController()
    jumped.abort()
  }
}
