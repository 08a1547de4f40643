import type {
  Clock,
  CloseReason,
  DocumentBody,
  IChangeFeedObserver,
  ObserverContext,
  Random,
} from '@tidemark/contracts'
import { backoffMs } from './backoff.ts'
import type { Bell } from './bell.ts'
import type { PumpEnding } from './pump-ending.ts'
import type { ObserverQueue, PumpNotice, PumpOptions } from './pump-options.ts'

export interface ObserverCallsParts {
  readonly queue: ObserverQueue
  readonly clock: Clock
  readonly random: Random
  readonly options: PumpOptions
  readonly onNotice: (notice: PumpNotice) => void
  readonly bell: Bell
  readonly ending: PumpEnding
  /** Whether the lease may be relied on at this moment. */
  readonly mayDispatch: () => boolean
}

type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The call was never made, or did not settle within its grace. */
  | { readonly kind: 'ended' }

/** Calls one lease's observer: in the host's queue, only while the lease is good, again when it throws. */
export class ObserverCalls {
  readonly #parts: ObserverCallsParts
  #attempt = 0
  #calledAtMs: number | undefined
  #lastError: unknown

  constructor(parts: ObserverCallsParts) {
    this.#parts = parts
  }

  /** Of the call in flight or to be tried again; 0 when there is none. */
  get attempt(): number {
    return this.#attempt
  }

  /** Since when the present call has been running. */
  get calledAtMs(): number | undefined {
    return this.#calledAtMs
  }

  /** Undefined after the next success. */
  get lastError(): unknown {
    return this.#lastError
  }

  /** Opens an observer; undefined if the end came first. A failed open is closed, and tried anew. */
  async open<T extends DocumentBody>(
    createObserver: () => IChangeFeedObserver<T>,
    contextOf: (attempt: number) => ObserverContext,
  ): Promise<IChangeFeedObserver<T> | undefined> {
    const { bell, ending } = this.#parts
    for (let attempt = 1; !ending.isAsked; attempt += 1) {
      let observer: IChangeFeedObserver<T> | undefined
      try {
        const created = createObserver()
        observer = created
        const opening = (async () => {
          await created.open?.(contextOf(attempt))
        })()
        await bell.untilSettled(opening, () => ending.graceIsOver)
        this.#lastError = undefined
        return created
      } catch (error) {
        if (observer !== undefined) await this.close(observer, contextOf(1), 'observerError')
        await this.#failed('open', error, attempt)
      }
    }
    return undefined
  }

  /** Makes a call until the observer has accepted it; undefined if the end came first. */
  async untilAccepted(
    phase: 'processChanges' | 'resynchronize',
    contextOf: (attempt: number) => ObserverContext,
    call: (context: ObserverContext) => Promise<void> | void,
  ): Promise<{ readonly attempt: number; readonly durationMs: number } | undefined> {
    const { clock, ending } = this.#parts
    for (let attempt = 1; !ending.isAsked; attempt += 1) {
      this.#attempt = attempt
      const startedMs = clock.monotonicMs()
      const context = contextOf(attempt)
      const outcome = await this.#dispatch(async () => {
        await call(context)
      })
      if (outcome.kind === 'ended') return undefined
      if (outcome.kind === 'done') {
        this.#attempt = 0
        this.#lastError = undefined
        return { attempt, durationMs: clock.monotonicMs() - startedMs }
      }
      await this.#failed(phase, outcome.error, attempt)
    }
    return undefined
  }

  async close<T extends DocumentBody>(
    observer: IChangeFeedObserver<T>,
    context: ObserverContext,
    reason: CloseReason,
  ): Promise<void> {
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

  async #dispatch(call: () => Promise<void>): Promise<Outcome> {
    const { bell, clock, ending, mayDispatch } = this.#parts
    for (;;) {
      while (!mayDispatch() && !ending.isAsked) await bell.next
      if (ending.isAsked) return { kind: 'ended' }
      let wasMade = false
      try {
        const settled = await this.#inQueue(
          async () => {
            // Asked again: the queue may have been long.
            if (!mayDispatch()) return
            wasMade = true
            this.#calledAtMs = clock.monotonicMs()
            try {
              await call()
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
    const { bell, ending, queue } = this.#parts
    const queued = queue.add(async () => {
      if (!ending.isAsked) await call()
    })
    return bell.untilSettled(queued, () => ending.graceIsOver || (ending.isAsked && !hasBegun()))
  }

  async #failed(
    phase: 'open' | 'processChanges' | 'resynchronize',
    error: unknown,
    attempt: number,
  ): Promise<void> {
    const { clock, random, options, onNotice, ending } = this.#parts
    const delayMs = backoffMs(attempt, {
      baseMs: options.retryDelayMs,
      maxMs: options.retryMaxDelayMs,
      fraction: random.fraction(),
    })
    this.#lastError = error
    const retryInMs = ending.isAsked ? undefined : delayMs
    onNotice({ kind: 'observerError', phase, error, attempt, retryInMs })
    if (retryInMs === undefined) return
    try {
      await clock.sleep(retryInMs, ending.endedSignal)
    } catch {
      // The end came meanwhile.
    }
  }
}
