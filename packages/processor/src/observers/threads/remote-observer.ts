import type { Clock, CloseReason, ObserverContext } from '@tidemark/contracts'
import { AbortLink } from './abort-link.ts'
import type { ObserverThread } from './observer-thread.ts'
import { ObserverThreadEndedError } from './observer-thread-ended-error.ts'
import type { ObserverAct } from './thread-messages.ts'

/** One observer in one thread, which lives as long as that thread, or shorter. */
export class RemoteObserver {
  readonly #thread: ObserverThread
  readonly #number: number
  readonly #lease: AbortLink
  #inFlight = 0
  #isClosing = false

  /** `lease`: the signal that all calls share whose context has no signal of its own. */
  constructor(thread: ObserverThread, lease: AbortSignal) {
    this.#thread = thread
    this.#number = thread.newNumber()
    this.#lease = new AbortLink(lease, (reason) =>
      thread.abort(this.#number, { call: undefined, reason }),
    )
  }

  /** It may be called: its thread lives, and it was not closed. */
  get isAlive(): boolean {
    return this.#thread.isRunning && !this.#isClosing
  }

  /** Its thread died, and another observer comes in its place. */
  abandon(): void {
    this.#lease.end()
  }

  /** `open`, with a context of the lease's signal, comes first. `onAccepted`: look at the progress of the call. */
  async call(act: ObserverAct, context: ObserverContext, onAccepted?: () => void): Promise<void> {
    const isOfLease = context.signal === this.#lease.signal
    let call: number | undefined
    const own = isOfLease
      ? undefined
      : new AbortLink(context.signal, (reason) =>
          this.#thread.abort(this.#number, { call, reason }),
        )
    const abortCell = act.kind === 'open' ? this.#lease.cell : own?.cell
    this.#inFlight += 1
    try {
      const running = this.#thread.call(this.#number, { act, context, abortCell, onAccepted })
      call = running.call
      await running.settled
    } finally {
      this.#inFlight -= 1
      own?.end()
    }
  }

  /**
   * Closes the observer, and waits no longer for its calls once the thread says that it does. A thread that does
   * not say so within `graceMs` and has a call of this observer in flight, is blocked by what nobody waits for any
   * more: it is ended, so that the others on it can go on in a new one.
   */
  async close(
    context: ObserverContext,
    { reason, clock, graceMs }: { reason: CloseReason; clock: Clock; graceMs: number },
  ): Promise<void> {
    this.#isClosing = true
    if (!this.#thread.isRunning) {
      this.#lease.end()
      return
    }
    const act = { kind: 'close', reason } as const
    const closing = this.#thread.call(this.#number, { act, context, abortCell: undefined })
    const taken = new AbortController()
    const overdue = clock.sleep(graceMs, taken.signal).then(
      () => this.#endBlockedThread(graceMs),
      () => {},
    )
    try {
      await closing.taken
      taken.abort()
      this.#thread.giveUpCalls(this.#number, closing.call)
      await closing.settled
    } finally {
      taken.abort()
      await overdue
      this.#lease.end()
      this.#thread.forget(this.#number)
    }
  }

  #endBlockedThread(graceMs: number): void {
    if (this.#inFlight === 0 || !this.#thread.isRunning) return
    this.#thread.terminate(
      new ObserverThreadEndedError(
        `a call that was given up went on for ${graceMs} ms and blocked its thread`,
      ),
    )
  }
}
