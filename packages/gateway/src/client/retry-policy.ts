import type { RequestEffect } from '@tidemark/contracts/internal'

/** What a request came to that did not succeed. */
export type RequestFailure =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** What the server asked to wait. */
      readonly retryAfterMs: number | undefined
    }
  /** Nobody listens there: the request arrived nowhere. */
  | { readonly kind: 'refused' }
  /** The connection broke, or there was no answer in time: the outcome is unknown. */
  | { readonly kind: 'lost' }

export interface RetryLimits {
  readonly maxAttempts: number
  /** Time from the first attempt within which another one may begin. */
  readonly maxRetryMs: number
}

const FIRST_DELAY_MS = 50
const HIGHEST_DELAY_MS = 1_000

/**
 * How long to wait before the same request is sent again; undefined when it is not.
 *
 * Throttled requests (429) and lost races inside the server (449) were not done, and are repeated whatever they are;
 * after what the server asks for, if it does. The others wait twice as long each time, with jitter.
 */
export function retryDelayMs(
  failure: RequestFailure,
  {
    attempt,
    elapsedMs,
    effect,
    fraction,
  }: {
    /** 1 for the first. */
    readonly attempt: number
    readonly elapsedMs: number
    readonly effect: RequestEffect
    /** Chance, in [0, 1). */
    readonly fraction: number
  },
  { maxAttempts, maxRetryMs }: RetryLimits,
): number | undefined {
  if (attempt >= maxAttempts || !mayRepeat(failure, effect)) return undefined
  const backOffMs = Math.min(HIGHEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1))
  const askedMs = failure.kind === 'answer' ? failure.retryAfterMs : undefined
  const delayMs = askedMs ?? backOffMs * (0.5 + fraction / 2)
  return elapsedMs + delayMs > maxRetryMs ? undefined : delayMs
}

function mayRepeat(failure: RequestFailure, effect: RequestEffect): boolean {
  switch (failure.kind) {
    case 'refused':
      return true
    case 'lost':
      return effect === 'none'
    case 'answer':
      return isUndone(failure.status) || (effect === 'none' && isPassing(failure.status))
  }
}

function isUndone(status: number): boolean {
  return status === 429 || status === 449
}

function isPassing(status: number): boolean {
  return status === 408 || status === 502 || status === 503 || status === 504
}
