import type { Clock } from '../clock.ts'

/** The machine's own clocks and timers. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  // Not by `node:timers/promises`: of most sleeps only the end is wanted, and to abort one costs four times as much there.
  sleep(delayMs, signal, { purpose = 'foreground' } = {}) {
    if (signal.aborted) return Promise.reject(signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, delayMs)
    if (purpose === 'background') timer.unref()
    signal.addEventListener('abort', onAbort, { once: true })
    return promise
  },
}
