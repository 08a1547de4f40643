import type { Clock } from '@tidemark/contracts'

/**
 * A call whose outcome is that of all who ask while it runs, and within `freshMs` after it has begun: however many ask, it is
 * made one at a time, and at most once in that time.
 */
export function sharedCall<Result>(
  call: () => Promise<Result>,
  { clock, freshMs }: { readonly clock: Clock; readonly freshMs: number },
): () => Promise<Result> {
  let last: { readonly outcome: Promise<Result>; freshUntilMs: number } | undefined
  return () => {
    const nowMs = clock.monotonicMs()
    if (last !== undefined && nowMs < last.freshUntilMs) return last.outcome
    const made = { outcome: call(), freshUntilMs: Infinity }
    last = made
    const onEnd = (): void => void (made.freshUntilMs = nowMs + freshMs)
    made.outcome.then(onEnd, onEnd)
    return made.outcome
  }
}
