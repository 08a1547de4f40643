import {
  cutPage,
  errorCode,
  lsn,
  type ChangeFeedSource,
  type Checkpoint,
  type DocumentBody,
  type FeedPage,
  type FeedRange,
  type Lsn,
} from '@tidemark/contracts'
import { findDamage } from '@tidemark/contracts/internal'
import { backoffMs } from './backoff.ts'
import { Bell } from './bell.ts'
import { cutBySuccessors } from './cut-by-successors.ts'
import type { PumpParts } from './pump-parts.ts'

/** A waiting read is repeated after this long, so that a lost wake-up delays, and no more. */
const WAIT_TIMEOUT_MS = 30_000
/** A range that stopped because something was purged is looked at again, in case somebody helped it. */
const HORIZON_PAUSE_MS = 30_000
/**
 * The most changes that one read of several pages asks for. A read holds the event loops that make it and take it, and what else is
 * on its way there waits, checkpoints too: 1,000 took a fifth longer to drain with two workers than 400.
 */
const CHANGES_A_READ = 400

/** The range was split or merged away. */
export interface RangeGone {
  readonly error: unknown
  /** What comes in its place; undefined when the feed does not say, or a child's feed begins at the split. */
  readonly parts: readonly FeedRange[] | undefined
}

/** Something that was not read yet was purged (TTL-15). */
export interface HorizonPassed {
  readonly lsn: Lsn
  readonly horizon: Lsn
}

/**
 * Reads one range ahead of its observer, a bounded number of pages, so that the observer never waits
 * for a page that could have been there. An observer that waits although more is there gets twice as many pages with the
 * next read, where pages can be cut (CF-16). A feed that fails is tried again for ever.
 */
export class PageReader<T extends DocumentBody> {
  readonly #parts: PumpParts<T>
  readonly #pages: FeedPage<T>[] = []
  readonly #space = new Bell()
  readonly #stop = new AbortController()
  readonly #damagedLsn: Lsn
  #position: Checkpoint
  /** End of empty pages that were read after all others. */
  #emptyUpTo: Checkpoint | undefined
  #gone: RangeGone | undefined
  #passed: HorizonPassed | undefined
  #isCaughtUp = false
  /** Of the observer's size, that the next read asks for. */
  #pagesARead = 1
  /** Somebody came for a page since the last read, and there was none. */
  #isAwaited = false
  #nudge = new AbortController()
  /** Ends a wait. Kept from one wait to the next: making one costs more than to read a page of one change. */
  #waiting: AbortSignal = AbortSignal.any([this.#stop.signal, this.#nudge.signal])
  #lastError: unknown

  /**
   * @param options.damagedLsn of a change whose text was damaged when this range was last read. Pages up to it are
   *   looked at as a whole, so that the observer gets none of them while the damage lasts
   */
  constructor(
    parts: PumpParts<T>,
    { start, damagedLsn = lsn(0) }: { readonly start: Checkpoint; readonly damagedLsn?: Lsn },
  ) {
    this.#parts = parts
    this.#position = start
    this.#damagedLsn = damagedLsn
  }

  /** The error that says so, once the range was split or merged away and all before is taken. */
  get gone(): RangeGone | undefined {
    return this.#pages.length === 0 ? this.#gone : undefined
  }

  /** Set, with `onHorizonPassed: 'resync'`, once all that could still be read is taken. */
  get passed(): HorizonPassed | undefined {
    return this.#pages.length === 0 ? this.#passed : undefined
  }

  /** The end of what is there, if it was read and everything was taken. */
  get caughtUpAt(): Checkpoint | undefined {
    return this.#isCaughtUp && this.#pages.length === 0 ? this.#position : undefined
  }

  /** Where everything that was taken leads: behind empty pages too. */
  get emptyUpTo(): Checkpoint | undefined {
    return this.#pages.length === 0 ? this.#emptyUpTo : undefined
  }

  /** Of the feed; undefined after the next success. */
  get lastError(): unknown {
    return this.#lastError
  }

  get hasPage(): boolean {
    return this.#pages.length > 0
  }

  take(): FeedPage<T> | undefined {
    const page = this.#pages.shift()
    if (page === undefined) this.#isAwaited = true
    else this.#space.ring()
    return page
  }

  /** Reads at once if it waits for more. */
  refresh(): void {
    this.#nudge.abort()
  }

  stop(): void {
    this.#stop.abort()
    this.#space.ring()
  }

  /** Reads until it is stopped, the range is gone or has to start over. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stop
    let failures = 0
    while (!signal.aborted && this.#gone === undefined && this.#passed === undefined) {
      if (this.#pages.length >= this.#parts.options.readAheadPages) {
        await this.#space.next
        continue
      }
      try {
        const read = await this.#read()
        if (signal.aborted) return
        for (const page of this.#cut(read)) {
          this.#assertUndamaged(page)
          failures = 0
          this.#lastError = undefined
          this.#accept(page)
        }
        this.#isCaughtUp = read.caughtUp
        this.#grow(read)
        if (read.caughtUp) await this.#waitForMore()
      } catch (error) {
        if (signal.aborted) return
        this.#isCaughtUp = false
        this.#pagesARead = 1
        failures += 1
        await this.#failed(error, failures)
      }
    }
  }

  #read(): Promise<FeedPage<T>> {
    const { feed, seat, options } = this.#parts
    const { maxItemCount, pendingDeletes, mode } = options
    return feed.readPage({
      range: seat.lease.range,
      continuation: this.#position.continuation,
      maxItemCount: this.#pagesARead === 1 ? maxItemCount : this.#pageSize * this.#pagesARead,
      pendingDeletes,
      mode,
      signal: this.#stop.signal,
    })
  }

  /** Infinity where the feed decides. */
  get #pageSize(): number {
    const { maxItemCount = -1 } = this.#parts.options
    return maxItemCount === -1 ? Infinity : maxItemCount
  }

  #cut(read: FeedPage<T>): readonly FeedPage<T>[] {
    return this.#pagesARead === 1 ? [read] : cutPage(read, this.#pageSize)
  }

  #grow({ caughtUp }: FeedPage<T>): void {
    const most = Math.max(1, Math.floor(CHANGES_A_READ / this.#pageSize))
    if (caughtUp || this.#parts.feed.supports.cuttable !== true) this.#pagesARead = 1
    else if (this.#isAwaited) this.#pagesARead = Math.min(2 * this.#pagesARead, most)
    this.#isAwaited = false
  }

  #assertUndamaged({ changes }: FeedPage<T>): void {
    if (this.#position.lsn >= this.#damagedLsn) return
    const damage = findDamage(changes)
    if (damage !== undefined) throw damage.error
  }

  #accept(page: FeedPage<T>): void {
    this.#position = { continuation: page.continuation, lsn: page.lsn }
    if (page.changes.length === 0) {
      this.#emptyUpTo = this.#position
      this.#parts.bell.ring()
      return
    }
    this.#emptyUpTo = undefined
    this.#pages.push(page)
    this.#parts.onNotice({ kind: 'batchRead', changes: page.changes.length, lsn: page.lsn })
    this.#parts.bell.ring()
  }

  async #waitForMore(): Promise<void> {
    const { feed, seat, clock, options } = this.#parts
    const { range } = seat.lease
    if (this.#nudge.signal.aborted) this.#renewNudge()
    const nudged = this.#nudge.signal
    const signal = this.#waiting
    try {
      if (!feed.supports.waiting || feed.waitForChanges === undefined) {
        await clock.sleep(options.feedPollDelayMs, signal)
        return
      }
      const { continuation } = this.#position
      const { mode } = options
      await feed.waitForChanges({ range, continuation, mode, timeoutMs: WAIT_TIMEOUT_MS, signal })
    } catch (error) {
      if (!nudged.aborted || this.#stop.signal.aborted) throw error
    }
  }

  #renewNudge(): void {
    this.#nudge = new AbortController()
    this.#waiting = AbortSignal.any([this.#stop.signal, this.#nudge.signal])
  }

  async #failed(error: unknown, attempt: number): Promise<void> {
    const { feed, seat } = this.#parts
    const code = errorCode(error)
    if (code === 'ERR_HORIZON_PASSED') {
      await this.#horizonPassed(error)
      return
    }
    if (code !== 'ERR_RANGE_GONE') {
      await this.#retryLater(error, attempt)
      return
    }
    const gone = rangeGoneOf(error, feed, seat.lease.range)
    if (gone === 'present') {
      // The feed's own map of ranges was behind: once is no news, again and again is a failure.
      if (attempt > 1) await this.#retryLater(error, attempt)
      return
    }
    this.#gone = gone
    this.#parts.bell.ring()
  }

  async #horizonPassed(error: unknown): Promise<void> {
    const { seat, clock, options, onNotice } = this.#parts
    const { range } = seat.lease
    const { lsn: at } = this.#position
    const horizon = horizonOf(error) ?? at
    this.#lastError = error
    const action = options.onHorizonPassed === 'resync' ? 'resync' : 'halt'
    onNotice({ kind: 'horizonPassed', range, lsn: at, horizon, action, error })
    if (action === 'resync') {
      this.#passed = { lsn: at, horizon }
      this.#parts.bell.ring()
      return
    }
    await clock.sleep(HORIZON_PAUSE_MS, this.#stop.signal).catch(() => {})
  }

  async #retryLater(error: unknown, attempt: number): Promise<void> {
    const { clock, random, options, onNotice } = this.#parts
    const retryInMs = backoffMs(attempt, {
      baseMs: options.retryDelayMs,
      maxMs: options.retryMaxDelayMs,
      fraction: random.fraction(),
    })
    this.#lastError = error
    onNotice({ kind: 'feedError', error, attempt, retryInMs })
    try {
      await clock.sleep(retryInMs, this.#stop.signal)
    } catch {
      // Stopped meanwhile.
    }
  }
}

/** What an ERR_RANGE_GONE means for a reader of `range`; `present` when there is nothing to cut. */
export function rangeGoneOf<T extends DocumentBody>(
  error: unknown,
  feed: ChangeFeedSource<T>,
  range: FeedRange,
): RangeGone | 'present' {
  if (!feed.supports.childrenCarryParentChanges) return { error, parts: undefined }
  const parts = cutBySuccessors(range, successorsOf(error))
  return parts?.length === 1 ? 'present' : { error, parts }
}

/** Of a RangeGoneError, from whichever copy of the contracts. */
function successorsOf(error: unknown): readonly FeedRange[] {
  if (typeof error !== 'object' || error === null || !('successors' in error)) return []
  const { successors } = error
  return Array.isArray(successors) ? successors.filter(isRange) : []
}

function isRange(value: unknown): value is FeedRange {
  return (
    typeof value === 'object' &&
    value !== null &&
    'minInclusive' in value &&
    typeof value.minInclusive === 'string' &&
    'maxExclusive' in value &&
    typeof value.maxExclusive === 'string'
  )
}

function horizonOf(error: unknown): Lsn | undefined {
  if (typeof error !== 'object' || error === null || !('horizon' in error)) return undefined
  return typeof error.horizon === 'number' ? lsn(error.horizon) : undefined
}
