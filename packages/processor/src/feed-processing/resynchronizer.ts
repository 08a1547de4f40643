import {
  errorCode,
  type Checkpoint,
  type DocumentBody,
  type IChangeFeedObserver,
  type Lsn,
  type ObserverContext,
} from '@tidemark/contracts'
import { backoffMs } from './backoff.ts'
import type { ObserverCalls } from './observer-calls.ts'
import { rangeGoneOf, type HorizonPassed, type RangeGone } from './page-reader.ts'
import type { PumpParts } from './pump-parts.ts'

export type ResyncOutcome =
  | { readonly kind: 'done'; readonly restart: Checkpoint }
  /** The range was split meanwhile: each part finds for itself that it is too late. */
  | { readonly kind: 'gone'; readonly gone: RangeGone }
  | { readonly kind: 'ended' }

/** Tells an observer that it came too late, and finds where its range starts over (TTL-15). */
export class Resynchronizer<T extends DocumentBody> {
  readonly #parts: PumpParts<T>
  readonly #calls: ObserverCalls

  constructor(parts: PumpParts<T>, calls: ObserverCalls) {
    this.#parts = parts
    this.#calls = calls
  }

  async run(
    observer: IChangeFeedObserver<T>,
    { lsn, horizon }: HorizonPassed,
    contextOf: (attempt: number) => ObserverContext,
  ): Promise<ResyncOutcome> {
    const { seat, onNotice } = this.#parts
    const { range } = seat.lease
    const found = await this.#positions()
    if (found.kind !== 'found') return found
    const { restart, untilLsn } = found
    const accepted = await this.#calls.untilAccepted('resynchronize', contextOf, (context) =>
      observer.resynchronize?.(context, { range, lsn, horizon, untilLsn }),
    )
    if (!accepted) return { kind: 'ended' }
    onNotice({ kind: 'resynchronized', range, lsn, horizon, untilLsn })
    return { kind: 'done', restart }
  }

  /** Asks the feed until it answers. */
  async #positions(): Promise<
    | { readonly kind: 'found'; readonly restart: Checkpoint; readonly untilLsn: Lsn }
    | Exclude<ResyncOutcome, { kind: 'done' }>
  > {
    const { feed, seat, clock, random, options, onNotice, ending } = this.#parts
    const { range } = seat.lease
    const { mode } = options
    const signal = ending.endedSignal
    for (let attempt = 1; !ending.isAsked; attempt += 1) {
      try {
        // The end first: whatever is written between the two is read again below it, or comes after it.
        const end = await feed.resolveStart({ range, start: 'now', mode, signal })
        const start = 'beginning'
        const { continuation, lsn } = await feed.resolveStart({ range, start, mode, signal })
        return { kind: 'found', restart: { continuation, lsn }, untilLsn: end.lsn }
      } catch (error) {
        if (ending.isAsked) break
        const gone = errorCode(error) === 'ERR_RANGE_GONE' ? rangeGoneOf(error, feed, range) : 'no'
        if (gone !== 'no' && gone !== 'present') return { kind: 'gone', gone }
        const retryInMs = backoffMs(attempt, {
          baseMs: options.retryDelayMs,
          maxMs: options.retryMaxDelayMs,
          fraction: random.fraction(),
        })
        onNotice({ kind: 'feedError', error, attempt, retryInMs })
        await clock.sleep(retryInMs, signal).catch(() => {})
      }
    }
    return { kind: 'ended' }
  }
}
