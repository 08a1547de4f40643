import {
  type Change,
  type ChangeFeedSource,
  type Checkpoint,
  type Clock,
  type CloseReason,
  type DeadLetter,
  type DeadLetterSink,
  type DocumentBody,
  type FeedPage,
  type IChangeFeedObserver,
  type Lsn,
  type ObserverContext,
  type Random,
} from '@tidemark/contracts'
import { BatchDelivery, type AroundCall } from './batch-delivery.ts'
import { Bell } from './bell.ts'
import { DeadLetterOffice } from './dead-letter-office.ts'
import { FenceWatch } from './fence-watch.ts'
import { Lanes } from './lanes.ts'
import { ObserverCalls } from './observer-calls.ts'
import { observerContext } from './observer-context.ts'
import { PageDelivery } from './page-delivery.ts'
import { PageReader, type HorizonPassed, type RangeGone } from './page-reader.ts'
import { PositionKeeper } from './position-keeper.ts'
import { PumpEnding } from './pump-ending.ts'
import type { PumpLink, RangeReplacement } from './pump-link.ts'
import type { ObserverQueue, PumpNotice, PumpOptions } from './pump-options.ts'
import { Resynchronizer } from './resynchronizer.ts'
import type { SuspectTurns } from './suspect-turns.ts'

export interface RangePumpParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly createObserver: () => IChangeFeedObserver<T>
  readonly deadLetters: DeadLetterSink<T> | undefined
  /** Bounds the observer calls of the host that run at the same time. */
  readonly queue: ObserverQueue
  /** Of the host. */
  readonly turns: SuspectTurns
  readonly clock: Clock
  readonly random: Random
  readonly options: PumpOptions
  readonly onNotice: (notice: PumpNotice) => void
}

/** A pump at one moment, for `health()`. */
export interface PumpView {
  readonly processedLsn: Lsn | undefined
  /** The end of what was there when it was last read, if all of it is processed. */
  readonly caughtUpLsn: Lsn | undefined
  readonly attempt: number
  readonly inFlightMs: number | undefined
  readonly lastError: unknown
}

/** Changes of one key in one call, where the feed's own page size is not known. */
const LANE_BATCH = 1_000

/**
 * Works on one lease: opens an observer, hands it the range's changes, stores positions, closes it.
 * Whatever happens, each `open` gets exactly one `close`, and nothing after it.
 *
 * Everything that it waits for rings one bell, and it looks again what is the case.
 */
export class RangePump<T extends DocumentBody> {
  readonly #parts: RangePumpParts<T>
  readonly #link: PumpLink
  readonly #calls: ObserverCalls
  readonly #keeper: PositionKeeper
  readonly #office: DeadLetterOffice<T>
  readonly #delivery: BatchDelivery<T>
  readonly #pages: PageDelivery<T>
  readonly #bell = new Bell()
  readonly #ending: PumpEnding
  #reader: PageReader<T>
  #reading: Promise<unknown> = Promise.resolve()
  #lanes: Lanes<T> | undefined
  #isWorking = false
  /** A batch is taken and not done. */
  #isDelivering = false
  #gone: RangeGone | undefined
  #restart: Checkpoint | undefined

  constructor(given: RangePumpParts<T>, link: PumpLink) {
    const { clock, options, deadLetters: sink } = given
    const { range, checkpoint: start } = link.lease
    const bell = this.#bell
    const finishesWork = options.maxConcurrentKeys > 1
    const ending = new PumpEnding({ clock, graceMs: options.abortGraceMs, bell, finishesWork })
    const onNotice = (notice: PumpNotice): void => {
      // An observer that ends because its call was aborted did as it was asked.
      if (!('error' in notice && ending.explains(notice.error))) given.onNotice(notice)
    }
    const parts = { ...given, onNotice }
    this.#parts = parts
    this.#link = link
    this.#ending = ending
    this.#reader = this.#readerFrom(start)
    const mayDispatch = (): boolean => link.mayDispatch()
    const fence = new FenceWatch({ epoch: link.held.epoch, ending, onNotice })
    this.#calls = new ObserverCalls({ ...parts, bell, ending, fence, mayDispatch })
    const calls = this.#calls
    this.#office = new DeadLetterOffice({ ...parts, sink, range, bell, ending, fence })
    const office = this.#office
    const { turns } = parts
    const delivering = { range, options, calls, office, bell, ending, turns, onNotice }
    this.#delivery = new BatchDelivery(delivering)
    const storeCheckpoint = (position: Checkpoint): Promise<void> => link.storeCheckpoint(position)
    const policy = options.checkpointFrequency
    this.#keeper = new PositionKeeper({ start, policy, clock, bell, onNotice, storeCheckpoint })
    this.#pages = new PageDelivery({
      feed: parts.feed,
      range,
      options,
      keeper: this.#keeper,
      delivery: this.#delivery,
      signal: ending.endedSignal,
      attempts: start.attempts,
      contextOf: (changes, about) => this.#contextOf(changes, about),
    })
  }

  view(): PumpView {
    const { attempt, calledAtMs, lastError } = this.#calls
    return {
      processedLsn: this.#keeper.processed?.lsn,
      caughtUpLsn: this.#isIdle ? this.#reader.caughtUpAt?.lsn : undefined,
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
    const isAtRest = this.#isIdle && !this.#ending.isAsked && !this.#keeper.isAsked
    return isAtRest && this.#keeper.isAutomatic ? this.#reader.caughtUpAt : undefined
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
   * Works until it is told to end, the range is gone or has to start over. Never rejects; `closed` is
   * its last act.
   */
  async run(): Promise<void> {
    this.#reading = this.#reader.run()
    const redriving = this.#office.run()
    const observer = await this.#calls.open(this.#parts.createObserver, (attempt) =>
      this.#context({ at: undefined, attempt }),
    )
    if (observer !== undefined) {
      this.#isWorking = true
      do {
        await this.#work(observer)
        await this.#lanes?.settled()
      } while (this.#readsAgain())
      this.#isWorking = false
    }
    const { reason, replacement } = this.#outcome()
    if (reason === 'fenced') this.#pages.withdraw()
    this.#reader.stop()
    if (observer !== undefined) {
      const context = this.#context({ at: this.#keeper.processed, attempt: 1 })
      await this.#calls.close(observer, context, reason)
    }
    // What the observer asked to be stored is told to it, unless the lease is lost anyway.
    while (this.#keeper.isAsked && !this.#ending.isAbort) await this.#bell.next
    this.#ending.finish()
    this.#calls.finish()
    this.#link.closed({ checkpoint: this.#lastPosition(), reason, replacement })
    await Promise.all([this.#reading, redriving])
  }

  #readerFrom(start: Checkpoint, damagedLsn?: Lsn): PageReader<T> {
    const { range } = this.#link.lease
    const onArrival = (): void => this.#bell.ring()
    return new PageReader({ ...this.#parts, range, start, damagedLsn, onArrival })
  }

  /**
   * After a damaged change: reads again from behind everything that is done. The reader reports the damage, and waits
   * until it is gone. False when there was none, or the end has come.
   */
  #readsAgain(): boolean {
    const { damagedLsn } = this.#calls
    if (damagedLsn === undefined) return false
    this.#pages.withdraw()
    if (this.#ending.isAsked) return false
    this.#calls.forgetDamage()
    this.#office.startOver()
    this.#isDelivering = false
    this.#reader.stop()
    this.#reader = this.#readerFrom(this.#keeper.front, damagedLsn)
    this.#reading = Promise.all([this.#reading, this.#reader.run()])
    return true
  }

  get #isIdle(): boolean {
    return this.#isWorking && !this.#hasUnprocessed
  }

  get #hasUnprocessed(): boolean {
    return this.#isDelivering || this.#lanes?.isEmpty === false || this.#office.hasRedriven
  }

  /** Why the work has ended, and what replaces the lease. */
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
    if (this.#parts.options.maxConcurrentKeys > 1) this.#lanes = this.#openLanes(observer)
    while (!this.#ending.isAsked && this.#calls.damagedLsn === undefined) {
      const letter = this.#office.takeRedriven()
      if (letter !== undefined) {
        if (!(await this.#acceptLetter(observer, letter))) return
        continue
      }
      if (this.#lanes?.hasRoomBeside(this.#keeper.unstoredChanges) === false) {
        await this.#waitForPage()
        continue
      }
      const page = this.#reader.take()
      if (page !== undefined) {
        if (!(await this.#accept(observer, page))) return
        continue
      }
      const { gone, passed } = this.#reader
      // What is in the lanes comes before the end of the range.
      if ((gone ?? passed) === undefined || this.#lanes?.isEmpty === false) {
        // Nothing may wait between the look and this: a ring would be missed.
        await this.#waitForPage()
        continue
      }
      this.#gone = gone
      if (passed !== undefined) await this.#resynchronize(observer, passed)
      return
    }
  }

  /** One page: done in order, or given to the lanes. False when the end came first. */
  async #accept(observer: IChangeFeedObserver<T>, page: FeedPage<T>): Promise<boolean> {
    const isSerial = this.#pages.mustBeInOrder(page) || this.#lanes === undefined
    this.#isDelivering = true
    const goesOn = isSerial
      ? await this.#pages.deliver(observer, page)
      : await this.#pages.announce(page)
    if (!goesOn) return false
    this.#isDelivering = false
    if (isSerial) {
      this.#keeper.done(page, page.changes.length)
      while (this.#keeper.mustWait && !this.#ending.isAsked) await this.#bell.next
    } else {
      this.#lanes?.offer(page)
    }
    return true
  }

  #openLanes(observer: IChangeFeedObserver<T>): Lanes<T> {
    const { maxConcurrentKeys, laneWindowChanges, maxItemCount } = this.#parts.options
    return new Lanes<T>({
      maxConcurrentKeys,
      windowChanges: laneWindowChanges,
      maxItemCount: maxItemCount ?? LANE_BATCH,
      deliver: (changes, around) =>
        this.#delivery.deliver({
          observer,
          changes,
          around,
          contextOf: (piece, attempt) => this.#contextOf(piece, { attempt }),
        }),
      onWatermark: (position, changes) => this.#keeper.done(position, changes),
      onProgress: () => this.#bell.ring(),
      isEnding: () => this.#ending.endsCalls,
      ring: () => this.#bell.next,
    })
  }

  /** A dead letter that was sent back: by itself, between two batches of its key. False when the end came first. */
  async #acceptLetter(observer: IChangeFeedObserver<T>, letter: DeadLetter<T>): Promise<boolean> {
    const redeliver = (around?: AroundCall): Promise<boolean> =>
      this.#delivery.redeliver({
        observer,
        letter,
        around,
        contextOf: (changes, attempt) => this.#contextOf(changes, { attempt, redriven: true }),
      })
    if (this.#lanes !== undefined) {
      this.#lanes.offerAlone(letter.change, redeliver)
      return true
    }
    this.#isDelivering = true
    if (!(await redeliver())) return false
    this.#isDelivering = false
    return true
  }

  /** Tells the observer that it came too late; then the range starts over, unless the end came first. */
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
    const dueInMs = this.#keeper.dueInMs(this.#emptyUpTo)
    if (dueInMs === Infinity) {
      await this.#bell.next
      return
    }
    const rung = new AbortController()
    const timer = this.#parts.clock.sleep(dueInMs, rung.signal).catch(() => {})
    await Promise.race([this.#bell.next, timer])
    rung.abort()
    this.#keeper.storeIfDue()
    if (!this.#ending.isAsked) this.#keeper.storeEmptyIfDue(this.#emptyUpTo)
  }

  /** The end of empty pages behind everything that was done. */
  get #emptyUpTo(): Checkpoint | undefined {
    return this.#isDelivering || this.#lanes?.isEmpty === false ? undefined : this.#reader.emptyUpTo
  }

  /** What is to be stored with the release. */
  #lastPosition(): Checkpoint | undefined {
    return this.#keeper.last(this.#emptyUpTo)
  }

  #contextOf(
    changes: readonly Change<T>[],
    { page, ...rest }: { attempt: number; page?: FeedPage<T>; redriven?: boolean },
  ): ObserverContext {
    const last = changes.at(-1)
    const isEnd = page !== undefined && last === page.changes.at(-1)
    return this.#context({ ...rest, at: isEnd ? page : undefined, lsn: last?.lsn, changes })
  }

  #context(about: {
    readonly at: Checkpoint | undefined
    readonly attempt: number
    readonly lsn?: Lsn | undefined
    readonly redriven?: boolean
    readonly changes?: readonly Change<T>[]
  }): ObserverContext {
    const { at, attempt, lsn = at?.lsn, redriven = false, changes = [] } = about
    return observerContext(this.#link, this.#parts.options, {
      lsn,
      attempt,
      redriven,
      signal: this.#ending.abortedSignal,
      // What was sent back is of no page: whatever the observer did with it, no position moves.
      changes,
      checkpoint: () => (redriven ? this.#keeper.storeAgain() : this.#keeper.storeAsked(at)),
    })
  }
}
