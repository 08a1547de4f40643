import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.ts'

/** The machine's own clocks and timers. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(delayMs, signal, { purpose = 'foreground' } = {}) {
    try {
      await delay(delayMs, undefined, { signal, ref: purpose === 'foreground' })
    } catch (error) {
      // node:timers wraps the reason in an AbortError; the contract promises the reason itself.
      throw signal.aborted ? signal.reason : error
    }
  },
}
