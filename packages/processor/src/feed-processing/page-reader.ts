import {
  errorCode,
  type ChangeFeedSource,
  type Checkpoint,
  type Clock,
  type DocumentBody,
  type FeedPage,
  type FeedRange,
  type Random,
} from '@tidemark/contracts'
import { backoffMs } from './backoff.ts'
import { Bell } from './bell.ts'
import type { PumpNotice, PumpOptions } from './pump-options.ts'

/** A waiting read is repeated after this long, so that a lost wake-up delays, and no more. */
const WAIT_TIMEOUT_MS = 30_000

export interface PageReaderOptions<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly range: FeedRange
  readonly start: Checkpoint
  readonly clock: Clock
  readonly random: Random
  readonly options: PumpOptions
  readonly onNotice: (notice: PumpNotice) => void
  /** Something was read, or the range is gone. */
  readonly onArrival: () => void
}

/**
 * Reads one range ahead of its observer, a bounded number of pages, so that the observer never waits
 * for a page that could have been there. A feed that fails is tried again for ever.
 */
export class PageReader<T extends DocumentBody> {
  readonly #with: PageReaderOptions<T>
  readonly #pages: FeedPage<T>[] = []
  readonly #space = new Bell()
  readonly #stop = new AbortController()
  #position: Checkpoint
  /** End of empty pages that were read after all others. */
  #emptyUpTo: Checkpoint | undefined
  #gone: { readonly error: unknown } | undefined
  #lastError: unknown

  constructor(options: PageReaderOptions<T>) {
    this.#with = options
    this.#position = options.start
  }

  /** The error that says so, once the range was split or merged away and all before is taken. */
  get gone(): { readonly error: unknown } | undefined {
    return this.#pages.length === 0 ? this.#gone : undefined
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
    if (page !== undefined) this.#space.ring()
    return page
  }

  stop(): void {
    this.#stop.abort()
    this.#space.ring()
  }

  /** Reads until it is stopped or the range is gone. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stop
    let failures = 0
    while (!signal.aborted && this.#gone === undefined) {
      if (this.#pages.length >= this.#with.options.readAheadPages) {
        await this.#space.next
        continue
      }
      try {
        const page = await this.#read()
        if (signal.aborted) return
        failures = 0
        this.#lastError = undefined
        this.#accept(page)
        if (page.caughtUp) await this.#waitForMore()
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        await this.#failed(error, failures)
      }
    }
  }

  #read(): Promise<FeedPage<T>> {
    const { feed, range, options } = this.#with
    const { maxItemCount, pendingDeletes } = options
    return feed.readPage({
      range,
      continuation: this.#position.continuation,
      maxItemCount,
      pendingDeletes,
      signal: this.#stop.signal,
    })
  }

  #accept(page: FeedPage<T>): void {
    this.#position = { continuation: page.continuation, lsn: page.lsn }
    if (page.changes.length === 0) {
      this.#emptyUpTo = this.#position
      return
    }
    this.#emptyUpTo = undefined
    this.#pages.push(page)
    this.#with.onNotice({ kind: 'batchRead', changes: page.changes.length, lsn: page.lsn })
    this.#with.onArrival()
  }

  async #waitForMore(): Promise<void> {
    const { feed, range, clock, options } = this.#with
    const { signal } = this.#stop
    if (!feed.supports.waiting || feed.waitForChanges === undefined) {
      await clock.sleep(options.feedPollDelayMs, signal)
      return
    }
    const { continuation } = this.#position
    await feed.waitForChanges({ range, continuation, timeoutMs: WAIT_TIMEOUT_MS, signal })
  }

  async #failed(error: unknown, attempt: number): Promise<void> {
    if (errorCode(error) === 'ERR_RANGE_GONE') {
      this.#gone = { error }
      this.#with.onArrival()
      return
    }
    const { clock, random, options, onNotice } = this.#with
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
