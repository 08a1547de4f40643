import {
  InvalidOptionError,
  lsn as checkedLsn,
  type Change,
  type Checkpoint,
  type CloseReason,
  type DeadLetter,
  type DocumentBody,
  type FeedPage,
  type Lsn,
  type ObserverContext,
} from '@tidemark/contracts'
import { damageIn } from '@tidemark/contracts/internal'
import type { BatchObserver } from './batch-observer.ts'
import type { PumpReplacement } from '../lease-management/lease-protocol.ts'
import type { PumpSeat } from '../lease-management/pump-seat.ts'
import { Bell } from './bell.ts'
import { DeadLetterOffice } from './dead-letter-office.ts'
import { Delivery } from './delivery.ts'
import { FenceWatch } from './fence-watch.ts'
import { Lanes } from './lanes.ts'
import { ObserverCalls } from './observer-calls.ts'
import { PageReader, type HorizonPassed, type RangeGone } from './page-reader.ts'
import { PositionKeeper } from './position-keeper.ts'
import { PumpEnding } from './pump-ending.ts'
import type { PumpNotice } from './pump-events.ts'
import type { HostParts, PumpParts } from './pump-parts.ts'
import { Resynchronizer } from './resynchronizer.ts'

/** A pump at one moment, for `health()`. */
export interface PumpView {
  readonly processedLsn: Lsn | undefined
  /** The end of what was there when it was last read, if all of it is processed. */
  readonly caughtUpLsn: Lsn | undefined
  readonly attempt: number
  readonly inFlightMs: number | undefined
  readonly lastError: unknown
}

/**
 * Works on one lease: opens an observer, hands it the range's changes, stores positions, closes it.
 * Whatever happens, each `open` gets exactly one `close`, and nothing after it.
 *
 * Everything that it waits for rings one bell, and it looks again what is the case.
 */
export class RangePump<T extends DocumentBody> {
  readonly #parts: PumpParts<T>
  readonly #calls: ObserverCalls
  readonly #keeper: PositionKeeper
  readonly #office: DeadLetterOffice<T>
  readonly #bell = new Bell()
  readonly #ending: PumpEnding
  #reader: PageReader<T>
  #reading: Promise<unknown> = Promise.resolve()
  #delivery: Delivery<T> | undefined
  #lanes: Lanes<T> | undefined
  #isWorking = false
  /** A batch is taken and not done. */
  #isDelivering = false
  #gone: RangeGone | undefined
  #restart: Checkpoint | undefined

  constructor(given: HostParts<T>, seat: PumpSeat) {
    const { clock, options } = given
    const bell = this.#bell
    const finishesWork = options.maxConcurrentKeys > 1
    const ending = new PumpEnding({ clock, graceMs: options.abortGraceMs, bell, finishesWork })
    const onNotice = (notice: PumpNotice): void => {
      // An observer that ends because its call was aborted did as it was asked.
      if (!('error' in notice && ending.explains(notice.error))) given.onNotice(notice)
    }
    const fence = new FenceWatch({ epoch: seat.held.epoch, ending, onNotice })
    const parts = { ...given, onNotice, seat, bell, ending, fence }
    this.#parts = parts
    this.#ending = ending
    this.#reader = new PageReader(parts, { start: seat.lease.checkpoint })
    const mayDispatch = (): boolean => seat.mayDispatch()
    this.#calls = new ObserverCalls({ ...parts, mayDispatch })
    this.#office = new DeadLetterOffice(parts)
    this.#keeper = new PositionKeeper(parts)
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

  /** Whether it is the one that `observerCaller` tells. */
  isCaller(caller: object): boolean {
    return caller === this.#calls
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
    this.#reading = this.#read()
    const redriving = this.#office.run()
    const observer = await this.#calls.open(this.#parts.createObserver, (attempt) =>
      this.#context({ at: undefined, attempt }),
    )
    if (observer !== undefined) {
      this.#isWorking = true
      const delivery = this.#openDelivery(observer)
      do {
        await this.#work(observer, delivery)
        await this.#lanes?.settled()
      } while (this.#readsAgain(delivery))
      this.#isWorking = false
    }
    const { reason, replacement } = this.#outcome()
    if (reason === 'fenced') this.#delivery?.withdraw()
    this.#reader.stop()
    if (observer !== undefined) {
      const context = this.#context({ at: this.#keeper.processed, attempt: 1 })
      await this.#calls.close(observer, context, reason)
    }
    // What the observer asked to be stored is told to it, unless the lease is lost anyway.
    while (this.#keeper.isAsked && !this.#ending.isAbort) await this.#bell.next
    this.#ending.finish()
    this.#calls.finish()
    this.#parts.seat.closed({ checkpoint: this.#lastPosition(), reason, replacement })
    await Promise.all([this.#reading, redriving])
  }

  async #read(): Promise<void> {
    await this.#reader.run()
    this.#bell.ring()
  }

  /**
   * After a damaged change: reads again from behind everything that is done. The reader reports the damage, and waits
   * until it is gone. False when there was none, or the end has come.
   */
  #readsAgain(delivery: Delivery<T>): boolean {
    const { damagedLsn } = this.#calls
    if (damagedLsn === undefined) return false
    delivery.withdraw()
    if (this.#ending.isAsked) return false
    this.#keeper.storeUnmarked()
    this.#calls.forgetDamage()
    this.#office.startOver()
    this.#isDelivering = false
    this.#reader.stop()
    this.#reader = new PageReader(this.#parts, { start: this.#keeper.front, damagedLsn })
    this.#reading = Promise.all([this.#reading, this.#read()])
    return true
  }

  get #isIdle(): boolean {
    return this.#isWorking && !this.#hasUnprocessed
  }

  get #hasUnprocessed(): boolean {
    return this.#isDelivering || this.#lanes?.isEmpty === false || this.#office.hasRedriven
  }

  /** Why the work has ended, and what replaces the lease. */
  #outcome(): { reason: CloseReason; replacement: PumpReplacement | undefined } {
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
    const { seat, onNotice } = this.#parts
    const { range } = seat.lease
    onNotice({ kind: 'rangeGone', range, error: gone.error })
    const ranges = gone.parts
    return {
      reason: 'rangeGone',
      replacement: ranges === undefined ? undefined : { cause: 'split', ranges },
    }
  }

  async #work(observer: BatchObserver<T>, delivery: Delivery<T>): Promise<void> {
    if (this.#parts.options.maxConcurrentKeys > 1) {
      this.#lanes = new Lanes({ ...this.#parts, delivery, keeper: this.#keeper })
    }
    while (!this.#ending.isAsked && this.#calls.damagedLsn === undefined) {
      const letter = this.#office.takeRedriven()
      if (letter !== undefined) {
        if (!(await this.#acceptLetter(delivery, letter))) return
        continue
      }
      if (this.#lanes?.hasRoom === false) {
        this.#keeper.storeGathered()
        await this.#waitForPage()
        continue
      }
      const page = this.#reader.take()
      if (page !== undefined) {
        if (!(await this.#accept(delivery, page))) return
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

  #openDelivery(observer: BatchObserver<T>): Delivery<T> {
    this.#delivery = new Delivery({
      ...this.#parts,
      observer,
      keeper: this.#keeper,
      calls: this.#calls,
      office: this.#office,
      contextOf: (piece, attempt, { page, letter }, accepted) => {
        const last = piece.at(-1)
        // The position is told with the end of its page.
        const at = last === page?.changes.at(-1) ? page : undefined
        const redriven = letter !== undefined
        const continuation = page?.continuation
        return this.#context({
          at,
          attempt,
          lsn: last?.lsn,
          redriven,
          continuation,
          changes: piece,
          accepted,
        })
      },
    })
    return this.#delivery
  }

  /** One page: done in order, or given to the lanes. False when the end came first. */
  async #accept(delivery: Delivery<T>, page: FeedPage<T>): Promise<boolean> {
    this.#isDelivering = true
    const outcome = await delivery.deliver({ changes: page.changes, page })
    if (outcome === 'ended') return false
    this.#isDelivering = false
    if (outcome === 'dealt') {
      this.#lanes?.offer(page)
      return true
    }
    while (this.#keeper.mustWait && !this.#ending.isAsked) await this.#bell.next
    return true
  }

  /** A dead letter that was sent back: by itself, between two batches of its key. False when the end came first. */
  async #acceptLetter(delivery: Delivery<T>, letter: DeadLetter<T>): Promise<boolean> {
    if (this.#lanes !== undefined) {
      this.#lanes.offerLetter(letter)
      return true
    }
    this.#isDelivering = true
    if ((await delivery.deliver({ changes: [letter.change], letter })) === 'ended') return false
    this.#isDelivering = false
    return true
  }

  /** Tells the observer that it came too late; then the range starts over, unless the end came first. */
  async #resynchronize(observer: BatchObserver<T>, passed: HorizonPassed): Promise<void> {
    const resynchronizer = new Resynchronizer(this.#parts, this.#calls)
    const outcome = await resynchronizer.run(observer, passed, (attempt) =>
      this.#context({ at: undefined, attempt }),
    )
    if (outcome.kind === 'gone') this.#gone = outcome.gone
    if (outcome.kind === 'done') this.#restart = outcome.restart
  }

  /** Waits for a ring, or until it is time to store the end of empty pages. */
  async #waitForPage(): Promise<void> {
    const dueInMs = this.#keeper.emptyDueInMs(this.#emptyUpTo)
    if (dueInMs === Infinity) {
      await this.#bell.next
      return
    }
    const rung = new AbortController()
    const timer = this.#parts.clock.sleep(dueInMs, rung.signal).catch(() => {})
    await Promise.race([this.#bell.next, timer])
    rung.abort()
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

  /** What an observer is told with a call. `at` = what it may store: the end of what it has in hand. */
  #context({
    at,
    attempt,
    lsn = at?.lsn,
    redriven = false,
    continuation,
    changes = [],
    accepted,
  }: {
    readonly at: Checkpoint | undefined
    readonly attempt: number
    readonly lsn?: Lsn | undefined
    readonly redriven?: boolean
    readonly continuation?: string | undefined
    readonly changes?: readonly Change<T>[]
    readonly accepted?: ObserverContext['accepted']
  }): ObserverContext {
    const { seat, options } = this.#parts
    const { held, lease, generation } = seat
    return {
      hostName: options.hostName,
      group: options.group,
      leaseId: held.leaseId,
      range: lease.range,
      fence: { generation, epoch: held.epoch, lsn: lsn ?? checkedLsn(0) },
      signal: this.#ending.abortedSignal,
      attempt,
      redriven,
      continuation,
      accepted: (change) => {
        if (accepted !== undefined && this.#keeper.isAutomatic) return accepted(change)
        throw new InvalidOptionError(
          accepted === undefined
            ? 'accepted() is for changes of the batch in hand; there is none'
            : "accepted() is not for checkpointFrequency 'manual', where checkpoint() says what is done",
        )
      },
      checkpoint: async () => {
        const damage = damageIn(changes)
        if (damage !== undefined) throw damage.error
        // What was sent back is of no page: whatever the observer did with it, no position moves.
        await (redriven ? this.#keeper.storeAgain() : this.#keeper.storeAsked(at))
      },
    }
  }
}
