import {
  type ChangeFeedSource,
  type Checkpoint,
  type Clock,
  type CloseReason,
  type DocumentBody,
  type FeedPage,
  type HeldLease,
  type IChangeFeedObserver,
  type Lease,
  type Lsn,
  type ObserverContext,
  type Random,
} from '@tidemark/contracts'
import { backoffMs } from './backoff.ts'
import { Bell } from './bell.ts'
import { CheckpointSchedule } from './checkpoint-schedule.ts'
import { observerContext } from './observer-context.ts'
import { PageReader } from './page-reader.ts'
import type { ObserverQueue, PumpNotice, PumpOptions } from './pump-options.ts'

/** The pump's side of the lease protocol. */
export interface PumpLink {
  readonly held: HeldLease
  readonly lease: Lease
  readonly generation: string
  mayDispatch(): boolean
  storeCheckpoint(checkpoint: Checkpoint): Promise<void>
  closed(end: { readonly checkpoint: Checkpoint | undefined; readonly reason: CloseReason }): void
}

export interface RangePumpParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly createObserver: () => IChangeFeedObserver<T>
  /** Bounds the observer calls of the host that run at the same time. */
  readonly queue: ObserverQueue
  readonly clock: Clock
  readonly random: Random
  readonly options: PumpOptions
  readonly onNotice: (notice: PumpNotice) => void
}

/** A pump at one moment, for `health()`. */
export interface PumpView {
  readonly processedLsn: Lsn | undefined
  readonly attempt: number
  readonly inFlightMs: number | undefined
  readonly lastError: unknown
}

interface Ending {
  readonly how: 'drain' | 'abort'
  readonly reason: CloseReason
}

/**
 * Works on one lease: opens an observer, hands it the range's batches one after the other, stores
 * positions, closes it. Whatever happens, each `open` gets exactly one `close`, and nothing after it.
 *
 * Everything that it waits for rings one bell, and it looks again what is the case.
 */
export class RangePump<T extends DocumentBody> {
  readonly #parts: RangePumpParts<T>
  readonly #link: PumpLink
  readonly #reader: PageReader<T>
  readonly #schedule: CheckpointSchedule
  readonly #bell = new Bell()
  /** Ends waits of the pump itself. */
  readonly #ended = new AbortController()
  /** What the observer sees. */
  readonly #aborted = new AbortController()
  readonly #finished = new AbortController()
  #ending: Ending | undefined
  #graceIsOver = false
  #processed: Checkpoint | undefined
  /** Position that the observer asked for, in manual mode: the only one to be stored on close. */
  #manual: Checkpoint | undefined
  /** Calls of `context.checkpoint()` that have not settled. */
  #askedStores = 0
  #storedLsn: number
  #hasUnprocessed = false
  #attempt = 0
  #calledAtMs: number | undefined
  #observerError: unknown

  constructor(parts: RangePumpParts<T>, link: PumpLink) {
    const { feed, clock, random, options, onNotice } = parts
    this.#parts = parts
    this.#link = link
    this.#storedLsn = link.lease.checkpoint.lsn
    this.#schedule = new CheckpointSchedule(options.checkpointFrequency, clock.monotonicMs())
    this.#reader = new PageReader({
      feed,
      range: link.lease.range,
      start: link.lease.checkpoint,
      clock,
      random,
      options,
      onNotice,
      onArrival: () => this.#bell.ring(),
    })
  }

  view(): PumpView {
    const { clock } = this.#parts
    return {
      processedLsn: this.#processed?.lsn,
      attempt: this.#attempt,
      inFlightMs:
        this.#calledAtMs === undefined ? undefined : clock.monotonicMs() - this.#calledAtMs,
      lastError: this.#observerError ?? this.#reader.lastError,
    }
  }

  wake(): void {
    this.#bell.ring()
  }

  drain(reason: CloseReason): void {
    this.#end({ how: 'drain', reason })
  }

  abort(reason: CloseReason): void {
    this.#end({ how: 'abort', reason })
  }

  /** Works until it is told to end or the range is gone. Never rejects; `closed` is its last act. */
  async run(): Promise<void> {
    const reading = this.#reader.run().then(() => this.#bell.ring())
    const observer = await this.#open()
    if (observer !== undefined) await this.#work(observer)
    const gone = this.#ending === undefined ? this.#reader.gone : undefined
    if (gone !== undefined) {
      const { range } = this.#link.lease
      this.#parts.onNotice({ kind: 'rangeGone', range, error: gone.error })
    }
    const reason = this.#ending?.reason ?? (gone === undefined ? 'unknown' : 'rangeGone')
    this.#reader.stop()
    if (observer !== undefined) await this.#close(observer, reason)
    // What the observer asked to be stored is told to it, unless the lease is lost anyway.
    while (this.#askedStores > 0 && this.#ending?.how !== 'abort') await this.#bell.next
    this.#finished.abort()
    this.#ended.abort()
    this.#aborted.abort()
    this.#link.closed({ checkpoint: this.#lastPosition(), reason })
    await reading
  }

  #end(ending: Ending): void {
    if (this.#finished.signal.aborted || this.#ending?.how === 'abort') return
    this.#ending = ending
    this.#reader.stop()
    this.#ended.abort()
    if (ending.how === 'abort') {
      this.#aborted.abort()
      void this.#startGrace()
    }
    this.#bell.ring()
  }

  async #startGrace(): Promise<void> {
    const { clock, options } = this.#parts
    try {
      await clock.sleep(options.abortGraceMs, this.#finished.signal)
    } catch {
      return
    }
    this.#graceIsOver = true
    this.#bell.ring()
  }

  /** Opens an observer; undefined if the end came first. A failed open is closed, and tried anew. */
  async #open(): Promise<IChangeFeedObserver<T> | undefined> {
    for (let attempt = 1; this.#ending === undefined; attempt += 1) {
      let observer: IChangeFeedObserver<T> | undefined
      try {
        const created = this.#parts.createObserver()
        observer = created
        const context = this.#context({ at: undefined, attempt })
        const opening = (async () => {
          await created.open?.(context)
        })()
        await this.#bell.untilSettled(opening, () => this.#graceIsOver)
        this.#observerError = undefined
        return created
      } catch (error) {
        if (observer !== undefined) await this.#close(observer, 'observerError')
        await this.#observerFailed('open', error, attempt)
      }
    }
    return undefined
  }

  async #work(observer: IChangeFeedObserver<T>): Promise<void> {
    while (this.#ending === undefined) {
      const page = this.#reader.take()
      if (page === undefined) {
        if (this.#reader.gone !== undefined) return
        await this.#waitForPage()
        continue
      }
      this.#hasUnprocessed = true
      if (!(await this.#process(observer, page))) return
      this.#hasUnprocessed = false
      this.#processed = { continuation: page.continuation, lsn: page.lsn }
      this.#schedule.processed(page.changes.length)
      this.#storeIfDue()
      if (!this.#schedule.waitsForStore) continue
      while (this.#storedLsn < page.lsn && this.#ending === undefined) await this.#bell.next
    }
  }

  /** Waits for a ring, or until it is time to store what was processed. */
  async #waitForPage(): Promise<void> {
    const { clock } = this.#parts
    const dueInMs = this.#schedule.dueInMs(clock.monotonicMs())
    if (dueInMs === Infinity) {
      await this.#bell.next
      return
    }
    const rung = new AbortController()
    const timer = clock.sleep(dueInMs, rung.signal).catch(() => {})
    await Promise.race([this.#bell.next, timer])
    rung.abort()
    this.#storeIfDue()
  }

  /** Hands over one batch until the observer has accepted it; false if the end came first. */
  async #process(observer: IChangeFeedObserver<T>, page: FeedPage<T>): Promise<boolean> {
    const { clock, onNotice } = this.#parts
    for (let attempt = 1; this.#ending === undefined; attempt += 1) {
      this.#attempt = attempt
      const startedMs = clock.monotonicMs()
      const outcome = await this.#dispatch(observer, page, attempt)
      if (outcome.kind === 'ended') return false
      if (outcome.kind === 'done') {
        this.#attempt = 0
        this.#observerError = undefined
        const durationMs = clock.monotonicMs() - startedMs
        const changes = page.changes.length
        onNotice({ kind: 'batchDone', changes, lsn: page.lsn, attempt, durationMs })
        return true
      }
      await this.#observerFailed('processChanges', outcome.error, attempt)
    }
    return false
  }

  /** One try. `ended`: the call was never made, or did not settle within its grace. */
  async #dispatch(
    observer: IChangeFeedObserver<T>,
    page: FeedPage<T>,
    attempt: number,
  ): Promise<{ kind: 'done' } | { kind: 'failed'; error: unknown } | { kind: 'ended' }> {
    const context = this.#context({ at: page, attempt })
    for (;;) {
      while (!this.#link.mayDispatch() && this.#ending === undefined) await this.#bell.next
      if (this.#ending !== undefined) return { kind: 'ended' }
      let wasMade = false
      try {
        const settled = await this.#inQueue(
          async () => {
            // Asked again: the queue may have been long.
            if (!this.#link.mayDispatch()) return
            wasMade = true
            this.#calledAtMs = this.#parts.clock.monotonicMs()
            try {
              await observer.processChanges(context, page.changes)
            } finally {
              this.#calledAtMs = undefined
            }
          },
          () => wasMade,
        )
        if (!settled) return { kind: 'ended' }
        if (wasMade) return { kind: 'done' }
      } catch (error) {
        return { kind: 'failed', error }
      }
    }
  }

  /** Runs `call` in the host's queue. False when the end came before it began, or its grace is over. */
  #inQueue(call: () => Promise<void>, hasBegun: () => boolean): Promise<boolean> {
    const queued = this.#parts.queue.add(async () => {
      if (this.#ending === undefined) await call()
    })
    return this.#bell.untilSettled(
      queued,
      () => this.#graceIsOver || (this.#ending !== undefined && !hasBegun()),
    )
  }

  async #close(observer: IChangeFeedObserver<T>, reason: CloseReason): Promise<void> {
    const context = this.#context({ at: this.#processed, attempt: 1 })
    const { clock, options, onNotice } = this.#parts
    const over = new AbortController()
    try {
      // A close that hangs must not keep the lease.
      await Promise.race([
        (async () => {
          await observer.close?.(context, reason)
        })(),
        clock.sleep(options.abortGraceMs, over.signal),
      ])
    } catch (error) {
      onNotice({ kind: 'observerError', phase: 'close', error, attempt: 1, retryInMs: undefined })
    } finally {
      over.abort()
    }
  }

  async #observerFailed(
    phase: 'open' | 'processChanges',
    error: unknown,
    attempt: number,
  ): Promise<void> {
    const { clock, random, options, onNotice } = this.#parts
    const retryInMs = backoffMs(attempt, {
      baseMs: options.retryDelayMs,
      maxMs: options.retryMaxDelayMs,
      fraction: random.fraction(),
    })
    this.#observerError = error
    const willRetry = this.#ending === undefined
    onNotice({
      kind: 'observerError',
      phase,
      error,
      attempt,
      retryInMs: willRetry ? retryInMs : undefined,
    })
    if (!willRetry) return
    try {
      await clock.sleep(retryInMs, this.#ended.signal)
    } catch {
      // The end came meanwhile.
    }
  }

  #storeIfDue(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (this.#processed === undefined || this.#schedule.dueInMs(nowMs) > 0) return
    this.#schedule.requested(nowMs)
    // A rejection says that the lease is lost; then the end is coming anyway.
    this.#store(this.#processed).catch(() => {})
  }

  async #store(checkpoint: Checkpoint): Promise<void> {
    await this.#link.storeCheckpoint(checkpoint)
    this.#storedLsn = Math.max(this.#storedLsn, checkpoint.lsn)
    this.#parts.onNotice({ kind: 'checkpointed', lsn: checkpoint.lsn })
    this.#bell.ring()
  }

  /** What is to be stored with the release. */
  #lastPosition(): Checkpoint | undefined {
    if (!this.#schedule.isAutomatic) return this.#manual
    if (!this.#hasUnprocessed && this.#reader.emptyUpTo !== undefined) {
      return this.#reader.emptyUpTo
    }
    return this.#processed
  }

  #context({ at, attempt }: { at: Checkpoint | undefined; attempt: number }): ObserverContext {
    return observerContext(this.#link, this.#parts.options, {
      at,
      attempt,
      signal: this.#aborted.signal,
      checkpoint: async () => {
        const position = at ?? this.#processed
        if (position === undefined) return
        this.#manual = { continuation: position.continuation, lsn: position.lsn }
        this.#askedStores += 1
        try {
          await this.#store(this.#manual)
        } finally {
          this.#askedStores -= 1
          this.#bell.ring()
        }
      },
    })
  }
}
