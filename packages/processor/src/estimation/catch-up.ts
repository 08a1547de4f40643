import {
  NotCaughtUpError,
  errorCode,
  feedRangeId,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type FeedMode,
} from '@tidemark/contracts'
import type { FeedEstimate, LeaseEstimate } from './feed-estimate.ts'
import { readFeedGoals, unreachedLeases, type FeedGoal } from './feed-goals.ts'

export interface CatchUpParts<T extends DocumentBody> {
  readonly group: string
  readonly feed: ChangeFeedSource<T>
  readonly mode: FeedMode | undefined
  readonly clock: Clock
  /** As exact as it has to be to tell something from nothing. */
  readonly estimate: (signal: AbortSignal) => Promise<FeedEstimate>
  /** Up to where something of a lease is known to be done besides what is stored. @default nothing */
  readonly doneLsn?: ((lease: LeaseEstimate) => number) | undefined
}

export interface CatchUpLimit {
  /** Undefined = none. */
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** What kept the group, where that is known. */
  readonly cause?: (() => unknown) | undefined
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 500

/** One wait for a group to do what was in its feed when the wait began. */
export class CatchUp<T extends DocumentBody> {
  readonly #parts: CatchUpParts<T>
  #goals: readonly FeedGoal[] | undefined
  #behind: readonly LeaseEstimate[] | undefined

  constructor(parts: CatchUpParts<T>) {
    this.#parts = parts
  }

  /**
   * Runs `act` under a signal that aborts with the caller's, and with ERR_NOT_CAUGHT_UP when time is up. `act` must
   * reject with its reason.
   */
  async within<Result>(
    { timeoutMs, signal, cause }: CatchUpLimit,
    act: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { group, clock } = this.#parts
    const isDone = new AbortController()
    const late = new AbortController()
    const expire = (): void => {
      const text = `group ${group} has not caught up within ${timeoutMs} ms: ${this.#state()}`
      late.abort(new NotCaughtUpError(text, { cause: cause?.() }))
    }
    const timer =
      timeoutMs === undefined
        ? undefined
        : clock.sleep(timeoutMs, isDone.signal).then(expire, () => {})
    try {
      return await act(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]))
    } finally {
      isDone.abort()
      await timer
    }
  }

  /** Reads what is in the feed now: what is to be done. A feed that fails is asked again. */
  async begin(signal: AbortSignal): Promise<void> {
    const { feed, mode } = this.#parts
    this.#goals = await this.#repeat(signal, () => readFeedGoals(feed, { mode, signal }))
  }

  /**
   * Looks again and again, less and less often, until the group has leases and none of them is behind; resolves with
   * the last look. Stores that fail are asked again, as hosts do it.
   *
   * Rejects with the signal's reason, and with what fails for good (`retryable: false`).
   */
  reached(signal: AbortSignal): Promise<FeedEstimate> {
    const { estimate, doneLsn } = this.#parts
    return this.#repeat(signal, async () => {
      const seen = await estimate(signal)
      this.#behind = unreachedLeases(seen, this.#goals ?? [], doneLsn)
      return seen.leases.length > 0 && this.#behind.length === 0 ? seen : undefined
    })
  }

  async #repeat<Result>(
    signal: AbortSignal,
    look: () => Promise<Result | undefined>,
  ): Promise<Result> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5)) {
      signal.throwIfAborted()
      try {
        const found = await orAborted(look(), signal)
        if (found !== undefined) return found
      } catch (error) {
        signal.throwIfAborted()
        if (isFinal(error)) throw error
      }
      await this.#parts.clock.sleep(pauseMs, signal)
    }
  }

  #state(): string {
    if (this.#goals === undefined) return 'the feed could not be read'
    if (this.#behind === undefined) return 'the leases could not be read'
    const [first] = this.#behind
    if (first === undefined) return 'it has no leases'
    const { range, owner = 'no host', checkpointLsn, newestLsn, problem } = first
    const why = problem === undefined ? '' : ` (${problem})`
    return (
      `${this.#behind.length} leases are behind, the first of them ${feedRangeId(range)}${why}, ` +
      `of ${owner}, at LSN ${checkpointLsn} of ${newestLsn}`
    )
  }
}

/** Of a coded error, from whichever copy of the contracts. A range that changed is asked for again. */
function isFinal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('retryable' in error)) return false
  return error.retryable === false && errorCode(error) !== 'ERR_RANGE_GONE'
}

/** A race, because what is called may ignore its signal and hang. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
