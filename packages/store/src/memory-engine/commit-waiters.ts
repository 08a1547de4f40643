import { StoreUnavailableError, type Clock } from '@tidemark/contracts'

interface Waiter {
  readonly afterLsn: number
  wake(): void
  fail(error: Error): void
}

/** More than this means a leak, not a load. */
const MAX_WAITERS = 100_000

/** Readers that have caught up with one pkrange and wait for its next commit. */
export class CommitWaiters {
  readonly #waiters = new Set<Waiter>()

  /** Resolves true at the first commit above `afterLsn`, false after `timeoutMs`. */
  async wait(
    request: {
      readonly afterLsn: number
      readonly timeoutMs: number
      readonly signal: AbortSignal
    },
    clock: Clock,
  ): Promise<boolean> {
    const { signal } = request
    signal.throwIfAborted()
    if (this.#waiters.size >= MAX_WAITERS) {
      throw new StoreUnavailableError(`${MAX_WAITERS} readers wait for one range already`)
    }
    const stopTimer = new AbortController()
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const waiter: Waiter = {
      afterLsn: request.afterLsn,
      wake: () => resolve(true),
      fail: reject,
    }
    const abort = (): void => reject(signal.reason)
    this.#waiters.add(waiter)
    signal.addEventListener('abort', abort, { once: true })
    const timer = clock.sleep(request.timeoutMs, stopTimer.signal).then(
      () => resolve(false),
      (error: unknown) => {
        if (!stopTimer.signal.aborted) reject(error)
      },
    )
    try {
      return await promise
    } finally {
      this.#waiters.delete(waiter)
      signal.removeEventListener('abort', abort)
      stopTimer.abort()
      await timer
    }
  }

  committed(lsn: number): void {
    for (const waiter of this.#waiters) {
      if (lsn > waiter.afterLsn) waiter.wake()
    }
  }

  /** The range is gone: its successors' commits never arrive here. */
  wakeAll(): void {
    for (const waiter of this.#waiters) waiter.wake()
  }

  failAll(error: Error): void {
    for (const waiter of this.#waiters) waiter.fail(error)
  }
}
