import {
  type ChangeFeedSource,
  type Checkpoint,
  type Clock,
  type CloseReason,
  type DocumentBody,
  type FeedPage,
  type FeedRange,
  type HeldLease,
  type IChangeFeedObserver,
  type Lease,
  type Lsn,
  type ObserverContext,
  type Random,
} from '@tidemark/contracts'
import { Bell } from './bell.ts'
import { CheckpointSchedule } from './checkpoint-schedule.ts'
import { ObserverCalls } from './observer-calls.ts'
import { observerContext } from './observer-context.ts'
import { PageReader, type HorizonPassed, type RangeGone } from './page-reader.ts'
import { PumpEnding } from './pump-ending.ts'
import type { ObserverQueue, PumpNotice, PumpOptions } from './pump-options.ts'
import { Resynchronizer } from './resynchronizer.ts'

/** What is to come in the place of the lease. */
export type RangeReplacement =
  | { readonly cause: 'split'; readonly ranges: readonly FeedRange[] }
  | { readonly cause: 'restart'; readonly checkpoint: Checkpoint }

/** The pump's side of the lease protocol. */
export interface PumpLink {
  readonly held: HeldLease
  readonly lease: Lease
  readonly generation: string
  mayDispatch(): boolean
  storeCheckpoint(checkpoint: Checkpoint): Promise<void>
  closed(end: {
    readonly checkpoint: Checkpoint | undefined
    readonly reason: CloseReason
    readonly replacement?: RangeReplacement | undefined
  }): void
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

/** The end of pages without changes is stored at most this often: other groups' purges wait for it. */
const EMPTY_ADVANCE_MS = 5_000

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
  readonly #calls: ObserverCalls
  readonly #schedule: CheckpointSchedule
  readonly #bell = new Bell()
  readonly #ending: PumpEnding
  #isWorking = false
  #processed: Checkpoint | undefined
  /** Position that the observer asked for, in manual mode: the only one to be stored on close. */
  #manual: Checkpoint | undefined
  /** Calls of `context.checkpoint()` that have not settled. */
  #askedStores = 0
  /** Highest position that was asked to be stored, and that is. */
  #askedLsn: number
  #storedLsn: number
  #emptyStoredMs: number
  #hasUnprocessed = false
  #gone: RangeGone | undefined
  #restart: Checkpoint | undefined

  constructor(parts: RangePumpParts<T>, link: PumpLink) {
    const { clock, options } = parts
    this.#parts = parts
    this.#link = link
    this.#askedLsn = link.lease.checkpoint.lsn
    this.#storedLsn = link.lease.checkpoint.lsn
    this.#emptyStoredMs = clock.monotonicMs()
    this.#schedule = new CheckpointSchedule(options.checkpointFrequency, clock.monotonicMs())
    const bell = this.#bell
    this.#ending = new PumpEnding({ clock, graceMs: options.abortGraceMs, bell })
    const { range, checkpoint: start } = link.lease
    this.#reader = new PageReader({ ...parts, range, start, onArrival: () => bell.ring() })
    const mayDispatch = (): boolean => link.mayDispatch()
    this.#calls = new ObserverCalls({ ...parts, bell, ending: this.#ending, mayDispatch })
  }

  view(): PumpView {
    const { attempt, calledAtMs, lastError } = this.#calls
    return {
      processedLsn: this.#processed?.lsn,
      attempt,
      inFlightMs:
        calledAtMs === undefined ? undefined : this.#parts.clock.monotonicMs() - calledAtMs,
      lastError: lastError ?? this.#reader.lastError,
    }
  }

  /**
   * Where the pump stands if it has nothing to do: all that is there was read and processed. It stays
   * there for the rest of this turn of the event loop. Undefined in manual mode: only the observer
   * knows what may be stored then.
   */
  idlePosition(): Checkpoint | undefined {
    const isIdle =
      this.#isWorking && !this.#ending.isAsked && !this.#hasUnprocessed && this.#askedStores === 0
    return isIdle && this.#schedule.isAutomatic ? this.#reader.caughtUpAt : undefined
  }

  /** Looks at once whether there is more, instead of when something wakes it. */
  refresh(): void {
    this.#reader.refresh()
  }

  wake(): void {
    this.#bell.ring()
  }

  drain(reason: CloseReason): void {
    if (this.#ending.ask('drain', reason)) this.#reader.stop()
  }

  abort(reason: CloseReason): void {
    if (this.#ending.ask('abort', reason)) this.#reader.stop()
  }

  /**
   * Works until it is told to end, the range is gone or has to begin anew. Never rejects; `closed` is
   * its last act.
   */
  async run(): Promise<void> {
    const reading = this.#reader.run().then(() => this.#bell.ring())
    const observer = await this.#calls.open(this.#parts.createObserver, (attempt) =>
      this.#context({ at: undefined, attempt }),
    )
    if (observer !== undefined) {
      this.#isWorking = true
      await this.#work(observer)
      this.#isWorking = false
    }
    const { reason, replacement } = this.#outcome()
    this.#reader.stop()
    if (observer !== undefined) {
      await this.#calls.close(observer, this.#context({ at: this.#processed, attempt: 1 }), reason)
    }
    // What the observer asked to be stored is told to it, unless the lease is lost anyway.
    while (this.#askedStores > 0 && !this.#ending.isAbort) await this.#bell.next
    this.#ending.finish()
    this.#link.closed({ checkpoint: this.#lastPosition(), reason, replacement })
    await reading
  }

  /** Why the work has ended, and what is to come in the place of the lease. */
  #outcome(): { reason: CloseReason; replacement: RangeReplacement | undefined } {
    const { reason } = this.#ending
    if (reason !== undefined) return { reason, replacement: undefined }
    if (this.#restart !== undefined) {
      return {
        reason: 'resynchronized',
        replacement: { cause: 'restart', checkpoint: this.#restart },
      }
    }
    const gone = this.#gone
    if (gone === undefined) return { reason: 'unknown', replacement: undefined }
    const { range } = this.#link.lease
    this.#parts.onNotice({ kind: 'rangeGone', range, error: gone.error })
    const ranges = gone.parts
    return {
      reason: 'rangeGone',
      replacement: ranges === undefined ? undefined : { cause: 'split', ranges },
    }
  }

  async #work(observer: IChangeFeedObserver<T>): Promise<void> {
    while (!this.#ending.isAsked) {
      const page = this.#reader.take()
      if (page === undefined) {
        const { gone, passed } = this.#reader
        this.#gone = gone
        if (passed !== undefined) await this.#resynchronize(observer, passed)
        if (gone !== undefined || passed !== undefined) return
        // Nothing may wait between the look and this: a ring would be missed.
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
      while (this.#storedLsn < page.lsn && !this.#ending.isAsked) await this.#bell.next
    }
  }

  /** Tells the observer that it came too late; then the range begins anew, unless the end came first. */
  async #resynchronize(observer: IChangeFeedObserver<T>, passed: HorizonPassed): Promise<void> {
    const { range } = this.#link.lease
    const parts = { ...this.#parts, range, calls: this.#calls, ending: this.#ending }
    const outcome = await new Resynchronizer(parts).run(observer, passed, (attempt) =>
      this.#context({ at: undefined, attempt }),
    )
    if (outcome.kind === 'gone') this.#gone = outcome.gone
    if (outcome.kind === 'done') this.#restart = outcome.restart
  }

  /** Waits for a ring, or until it is time to store what was processed. */
  async #waitForPage(): Promise<void> {
    const { clock } = this.#parts
    const nowMs = clock.monotonicMs()
    const dueInMs = Math.min(this.#schedule.dueInMs(nowMs), this.#emptyDueInMs(nowMs))
    if (dueInMs === Infinity) {
      await this.#bell.next
      return
    }
    const rung = new AbortController()
    const timer = clock.sleep(dueInMs, rung.signal).catch(() => {})
    await Promise.race([this.#bell.next, timer])
    rung.abort()
    this.#storeIfDue()
    this.#storeEmptyIfDue()
  }

  /** Hands over one batch until the observer has accepted it; false if the end came first. */
  async #process(observer: IChangeFeedObserver<T>, page: FeedPage<T>): Promise<boolean> {
    const accepted = await this.#calls.untilAccepted(
      'processChanges',
      (attempt) => this.#context({ at: page, attempt }),
      (context) => observer.processChanges(context, page.changes),
    )
    if (accepted === undefined) return false
    const changes = page.changes.length
    this.#parts.onNotice({ kind: 'batchDone', changes, lsn: page.lsn, ...accepted })
    return true
  }

  #storeIfDue(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (this.#processed === undefined || this.#schedule.dueInMs(nowMs) > 0) return
    this.#schedule.requested(nowMs)
    // A rejection says that the lease is lost; then the end is coming anyway.
    this.#store(this.#processed).catch(() => {})
  }

  /** Time until the end of pages without changes is to be stored; Infinity when it is stored. */
  #emptyDueInMs(nowMs: number): number {
    const { emptyUpTo } = this.#reader
    if (!this.#schedule.isAutomatic || emptyUpTo === undefined) return Infinity
    if (emptyUpTo.lsn <= this.#askedLsn) return Infinity
    return Math.max(0, this.#emptyStoredMs + EMPTY_ADVANCE_MS - nowMs)
  }

  #storeEmptyIfDue(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const { emptyUpTo } = this.#reader
    if (this.#ending.isAsked || emptyUpTo === undefined || this.#emptyDueInMs(nowMs) > 0) return
    this.#emptyStoredMs = nowMs
    this.#schedule.requested(nowMs)
    this.#store(emptyUpTo).catch(() => {})
  }

  async #store(checkpoint: Checkpoint): Promise<void> {
    this.#askedLsn = Math.max(this.#askedLsn, checkpoint.lsn)
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
      signal: this.#ending.abortedSignal,
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
