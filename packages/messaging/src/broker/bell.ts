import type { Clock } from '@tidemark/contracts'

/** Wakes one loop before its time. */
export class Bell {
  readonly #clock: Clock
  #waiter: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Ends the wait that goes on now, if there is one. */
  ring(): void {
    this.#waiter?.abort()
  }

  /** Resolves after `delayMs`, at the next ring, or when the signal aborts. Without a delay there is no timer. */
  async wait(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const waiter = new AbortController()
    const onAbort = (): void => waiter.abort()
    this.#waiter = waiter
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await (delayMs === undefined
        ? untilAborted(waiter.signal)
        : this.#clock.sleep(delayMs, waiter.signal, { purpose: 'background' }))
    } catch (error) {
      if (!waiter.signal.aborted) throw error
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#waiter = undefined
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
