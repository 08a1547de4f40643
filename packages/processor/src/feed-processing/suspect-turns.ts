import type { Clock } from '@tidemark/contracts'

/** Who takes longer than this does not end its process at once, and is waited for no more. */
const TURN_MS = 10_000

/**
 * Lets changes that may have ended a process be tried one after the other in one process: when it ends again,
 * there is one that it can have been. Otherwise one change that kills its process would drag along those that
 * other ranges have in hand each time, until all of them are given up.
 */
export class SuspectTurns {
  readonly #clock: Clock
  #last: Promise<void> = Promise.resolve()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Queues up. `come` resolves when it is one's turn; `begin` says that it is made use of; `end` gives it on, always. */
  take(): { readonly come: Promise<void>; readonly begin: () => void; readonly end: () => void } {
    const come = this.#last
    const over = Promise.withResolvers<void>()
    const ended = new AbortController()
    this.#last = come.then(() => over.promise)
    const end = (): void => {
      over.resolve()
      ended.abort()
    }
    const begin = (): void => {
      this.#clock.sleep(TURN_MS, ended.signal).then(end, () => {})
    }
    return { come, begin, end }
  }
}
