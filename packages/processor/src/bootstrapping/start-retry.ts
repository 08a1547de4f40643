import {
  CodedError,
  LeaseStoreUnavailableError,
  type Clock,
  type Random,
} from '@tidemark/contracts'

export interface StartRetryOptions {
  readonly clock: Clock
  readonly random: Random
  /** Clock time at which to give up; undefined = never. */
  readonly deadlineMs: number | undefined
  /** For the error message, and for how long one attempt may take: a third of it. */
  readonly timeoutMs: number
  /** Told of each failed attempt that is followed by another one. Must not throw. */
  readonly onFailure?: ((error: unknown) => void) | undefined
}

/** So many attempts at least, also if each of them hangs: one lost answer must not cost the start. */
const MIN_ATTEMPTS = 3
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

/**
 * Tries `attempt` until it succeeds, fails for good (`retryable: false`) or time is up. `attempt`
 * must be safe to repeat, and is told by its signal when to give up.
 *
 * Rejects with the attempt's error; without a coded one, with ERR_LEASE_STORE_UNAVAILABLE.
 */
export async function retryUntil<Result>(
  attempt: (signal: AbortSignal) => Promise<Result>,
  { clock, random, deadlineMs, timeoutMs, onFailure }: StartRetryOptions,
  signal: AbortSignal,
): Promise<Result> {
  const over = new AbortController()
  const anySignal = AbortSignal.any([signal, over.signal])
  let lastError: unknown
  const timeOut = async (atMs: number): Promise<never> => {
    await clock.sleep(Math.max(0, atMs - clock.monotonicMs()), anySignal)
    throw lastError instanceof CodedError
      ? lastError
      : new LeaseStoreUnavailableError(`the host could not start within ${timeoutMs} ms`, {
          cause: lastError,
        })
  }
  const trying = async (): Promise<Result> => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await attemptWithin(attempt, { clock, limitMs: timeoutMs / MIN_ATTEMPTS }, anySignal)
      } catch (error) {
        anySignal.throwIfAborted()
        if (isFinal(error)) throw error
        lastError = error
        onFailure?.(error)
      }
      const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10))
      await clock.sleep(delayMs * (0.5 + random.fraction() / 2), anySignal)
    }
  }
  try {
    const work = trying()
    return await (deadlineMs === undefined ? work : Promise.race([work, timeOut(deadlineMs)]))
  } finally {
    over.abort()
  }
}

/** A race, because what is called may ignore its signal and hang. */
async function attemptWithin<Result>(
  attempt: (signal: AbortSignal) => Promise<Result>,
  { clock, limitMs }: { clock: Clock; limitMs: number },
  signal: AbortSignal,
): Promise<Result> {
  const over = new AbortController()
  const anySignal = AbortSignal.any([signal, over.signal])
  const timedOut = clock.sleep(limitMs, anySignal).then(() => {
    throw new LeaseStoreUnavailableError(`no answer within ${limitMs} ms`)
  })
  try {
    return await Promise.race([attempt(anySignal), timedOut])
  } finally {
    over.abort()
  }
}

function isFinal(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'retryable' in error && error.retryable === false
  )
}
