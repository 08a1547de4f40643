import {
  type Change,
  type Clock,
  type CloseReason,
  type DocumentBody,
  type Lsn,
  type ObserverContext,
  type Random,
} from '@tidemark/contracts'
import { damageIn, findDamage, type ChangeDamage } from '@tidemark/contracts/internal'
import type { BatchObserver } from './batch-observer.ts'
import { backoffMs } from './backoff.ts'
import type { Bell } from './bell.ts'
import { CallWatchdog } from './call-watchdog.ts'
import type { FenceWatch } from './fence-watch.ts'
import type { PumpEnding } from './pump-ending.ts'
import { callObserver } from './platform/observer-caller.ts'
import type { PumpNotice } from './pump-events.ts'
import type { ObserverQueue, PumpOptions } from './pump-options.ts'

export interface ObserverCallsParts {
  readonly queue: ObserverQueue
  readonly clock: Clock
  readonly random: Random
  readonly options: PumpOptions
  readonly onNotice: (notice: PumpNotice) => void
  readonly bell: Bell
  readonly ending: PumpEnding
  readonly fence: FenceWatch
  /** Whether the lease may be relied on at this moment. */
  readonly mayDispatch: () => boolean
}

export type CallPhase = 'open' | 'processChanges' | 'resynchronize'

export type CallOutcome = (
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** A sink refused it, because there is a newer owner: no call of this pump can succeed any more. */
  | { readonly kind: 'fenced' }
  /**
   * The call was never made, or (`begun`) did not settle within its grace. A call that met a damaged change counts as
   * never made.
   */
  | { readonly kind: 'ended'; readonly begun: boolean }
) & { readonly durationMs: number }

/** Somebody who makes calls one after the other: a pump, or one key's lane of it. */
interface Caller {
  attempt: number
  lastError: unknown
}

/** Calls one lease's observer: in the host's queue, only while the lease is good, watched for how long it takes. */
export class ObserverCalls {
  readonly #parts: ObserverCallsParts
  readonly #watchdog: CallWatchdog
  /** Those whose last call failed, and has not succeeded since. */
  readonly #troubled = new Map<object, Caller>()
  #inFlight = 0
  #damagedLsn: Lsn | undefined

  constructor(parts: ObserverCallsParts) {
    const { clock, options, ending, onNotice } = parts
    this.#parts = parts
    this.#watchdog = new CallWatchdog({
      clock,
      maxBatchMs: options.maxBatchMs,
      onStuck: (error, inFlightMs) => {
        if (ending.ask('abort', 'observerStuck')) {
          onNotice({ kind: 'observerStuck', inFlightMs, error })
        }
      },
    })
  }

  /** Of the call in flight or to be tried again, the highest of all callers; 0 when there is none. */
  get attempt(): number {
    let highest = this.#inFlight > 0 ? 1 : 0
    for (const { attempt } of this.#troubled.values()) highest = Math.max(highest, attempt)
    return highest
  }

  /**
   * LSN of a change that an observer looked at and whose text is no document: the feed's error, and no try of the
   * observer, whatever it made of it. No call is made until `forgetDamage`.
   */
  get damagedLsn(): Lsn | undefined {
    return this.#damagedLsn
  }

  /** The range is read again. */
  forgetDamage(): void {
    this.#damagedLsn = undefined
  }

  /** Since when the oldest call in flight has been running. */
  get calledAtMs(): number | undefined {
    return this.#watchdog.oldestMs
  }

  /** Of a caller that has not succeeded since. */
  get lastError(): unknown {
    let last: unknown
    for (const { lastError } of this.#troubled.values()) last = lastError
    return last
  }

  /** Opens an observer; undefined if the end came first. A failed open is closed, and tried again. */
  async open<T extends DocumentBody>(
    createObserver: () => BatchObserver<T>,
    contextOf: (attempt: number) => ObserverContext,
  ): Promise<BatchObserver<T> | undefined> {
    const { ending, fence } = this.#parts
    for (let attempt = 1; !ending.isAsked; attempt += 1) {
      let observer: BatchObserver<T> | undefined
      try {
        const created = createObserver()
        observer = created
        const opening = callObserver(this, () => created.open?.(contextOf(attempt)))
        await this.#watched(opening, () => ending.untilSettled(opening, () => ending.graceIsOver))
        this.succeeded(this)
        return created
      } catch (error) {
        const isFenced = fence.sees(error)
        const reason = isFenced ? 'fenced' : 'observerError'
        if (observer !== undefined) await this.close(observer, contextOf(1), reason)
        if (isFenced) return undefined
        await this.failed(this, { phase: 'open', error, attempt })
      }
    }
    return undefined
  }

  /** Makes a call until the observer has accepted it; false if the end came first. */
  async untilAccepted(
    phase: CallPhase,
    contextOf: (attempt: number) => ObserverContext,
    call: (context: ObserverContext) => Promise<void> | void,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.once(contextOf(attempt), call)
      if (outcome.kind === 'ended' || outcome.kind === 'fenced') return false
      if (outcome.kind === 'done') {
        this.succeeded(this)
        return true
      }
      await this.failed(this, { phase, error: outcome.error, attempt })
    }
  }

  /**
   * Makes one call, as soon as the lease is good and the host has room for it. `prepare` is the last that happens
   * before it; false when there is to be no call after all. `changes` is what the observer gets.
   */
  async once(
    context: ObserverContext,
    call: (context: ObserverContext) => Promise<void> | void,
    {
      changes = [],
      prepare,
    }: {
      readonly changes?: readonly Change[]
      readonly prepare?: (() => Promise<boolean>) | undefined
    } = {},
  ): Promise<CallOutcome> {
    const { bell, clock, fence, mayDispatch } = this.#parts
    let isCalledOff = false
    let calledAtMs: number | undefined
    const took = (): { readonly durationMs: number } => ({
      durationMs: calledAtMs === undefined ? 0 : clock.monotonicMs() - calledAtMs,
    })
    for (;;) {
      while (!mayDispatch() && !this.#isOver) await bell.next
      if (this.#isOver) return { kind: 'ended', begun: false, ...took() }
      try {
        const settled = await this.#inQueue(
          async () => {
            // Asked again: the queue may have been long.
            if (!mayDispatch() || this.#isOver) return
            if (prepare !== undefined) {
              isCalledOff = !(await prepare())
              if (isCalledOff || this.#isOver || !mayDispatch()) return
            }
            calledAtMs = clock.monotonicMs()
            await this.#watched(context, () => callObserver(this, () => call(context)))
          },
          () => calledAtMs !== undefined,
        )
        const begun = calledAtMs !== undefined
        if (!settled || isCalledOff) return { kind: 'ended', begun, ...took() }
        if (begun) {
          if (this.#isDamaged(damageIn(changes))) return { kind: 'ended', begun: false, ...took() }
          return { kind: 'done', ...took() }
        }
      } catch (error) {
        if (fence.sees(error)) return { kind: 'fenced', ...took() }
        // A single change may become a dead letter next, which keeps its documents.
        const damage = changes.length === 1 ? findDamage(changes) : damageIn(changes)
        if (this.#isDamaged(damage)) return { kind: 'ended', begun: false, ...took() }
        return { kind: 'failed', error, ...took() }
      }
    }
  }

  async close<T extends DocumentBody>(
    observer: BatchObserver<T>,
    context: ObserverContext,
    reason: CloseReason,
  ): Promise<void> {
    const { clock, options, onNotice } = this.#parts
    const over = new AbortController()
    try {
      // A close that hangs must not keep the lease.
      await Promise.race([
        callObserver(this, () => observer.close?.(context, reason)),
        clock.sleep(options.abortGraceMs, over.signal),
      ])
    } catch (error) {
      onNotice({ kind: 'observerError', phase: 'close', error, attempt: 1, retryInMs: undefined })
    } finally {
      over.abort()
    }
  }

  /** The observer has come forward in this call: it does not hang. */
  cameForward(context: ObserverContext): void {
    this.#watchdog.cameForward(context)
  }

  /** No call is made any more. */
  finish(): void {
    this.#watchdog.stop()
  }

  succeeded(caller: object): void {
    this.#troubled.delete(caller)
  }

  /** Tells of a failure, and waits until it is time to try again or the end comes. */
  async failed(
    caller: object,
    { phase, error, attempt }: { phase: CallPhase; error: unknown; attempt: number },
  ): Promise<void> {
    const { clock, random, options, ending } = this.#parts
    const delayMs = backoffMs(attempt, {
      baseMs: options.retryDelayMs,
      maxMs: options.retryMaxDelayMs,
      fraction: random.fraction(),
    })
    const retryInMs = ending.isAsked ? undefined : delayMs
    this.failedNow(caller, { phase, error, attempt, retryInMs })
    if (retryInMs === undefined) return
    try {
      await clock.sleep(retryInMs, ending.endedSignal)
    } catch {
      // The end came meanwhile.
    }
  }

  /** Tells of a failure, and waits for nothing. */
  failedNow(
    caller: object,
    failure: {
      readonly phase: CallPhase
      readonly error: unknown
      readonly attempt: number
      readonly retryInMs: number | undefined
    },
  ): void {
    const { error, attempt } = failure
    this.#troubled.delete(caller)
    // What is to be tried again is the next attempt.
    this.#troubled.set(caller, { attempt: attempt + 1, lastError: error })
    this.#parts.onNotice({ kind: 'observerError', ...failure })
  }

  /** No call is to be made any more, or not before the range was read again. */
  get #isOver(): boolean {
    return this.#parts.ending.endsCalls || this.#damagedLsn !== undefined
  }

  #isDamaged(damage: ChangeDamage | undefined): boolean {
    if (damage === undefined) return false
    this.#damagedLsn = damage.lsn
    this.#parts.bell.ring()
    return true
  }

  async #watched<Result>(call: object, act: () => Promise<Result>): Promise<Result> {
    this.#inFlight += 1
    this.#watchdog.began(call)
    try {
      return await act()
    } finally {
      this.#watchdog.ended(call)
      this.#inFlight -= 1
    }
  }

  /** Runs `call` in the host's queue. False when the end came before it began, or its grace is over. */
  async #inQueue(call: () => Promise<void>, hasBegun: () => boolean): Promise<boolean> {
    const { ending, queue } = this.#parts
    let isOver = false
    const queued = queue.add(async () => {
      // A call that ignores its abort gives its place in the queue to others.
      if (!ending.endsCalls) isOver = !(await ending.untilSettled(call(), () => ending.graceIsOver))
    })
    const isGivenUp = (): boolean => ending.graceIsOver || (ending.endsCalls && !hasBegun())
    return (await ending.untilSettled(queued, isGivenUp)) && !isOver
  }
}
