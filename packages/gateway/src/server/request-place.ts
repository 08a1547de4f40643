import type { SharedLimit } from './shared-limit.ts'

/** How many requests may be served, how many may wait for a change, and how many characters they may hold. */
export interface RequestLimits {
  readonly served: SharedLimit
  readonly waiting: SharedLimit
  readonly heldChars: SharedLimit
}

/** What a request may hold without being counted, and asks for at once when it holds more. */
const CHARS_PER_HOLD = 256 * 1024

/** Where one request counts: among those that are served or, meanwhile, among those that wait. */
export class RequestPlace {
  readonly #limits: RequestLimits
  #clients: readonly unknown[] = []
  #leave: () => void = () => {}
  readonly #release: (() => void)[] = []
  #mayHold = CHARS_PER_HOLD

  constructor(limits: RequestLimits) {
    this.#limits = limits
  }

  /** @throws ERR_THROTTLED */
  enter(clients: readonly unknown[]): void {
    this.#leave = this.#limits.served.enter(clients)
    this.#clients = clients
  }

  /** Rejects with ERR_THROTTLED before it begins to wait. */
  async whileWaiting<Result>(act: () => Promise<Result>): Promise<Result> {
    const endWait = this.#limits.waiting.enter(this.#clients)
    this.#leave()
    try {
      return await act()
    } finally {
      endWait()
      this.#leave = this.#limits.served.enterAnyway(this.#clients)
    }
  }

  /**
   * Counts so many characters that the request holds by now, until it ends; it never gives any back before. After its
   * end it counts nothing: a query that was ended may compute up to its next turn.
   *
   * @returns how many it may hold without asking again
   * @throws ERR_THROTTLED
   */
  holdChars(chars: number): number {
    const more = this.#lacking(chars)
    if (more > 0) this.#release.push(this.#limits.heldChars.enter(this.#clients, more))
    return (this.#mayHold += more)
  }

  /** The same without a limit: the answer to a write that was done must not be refused. */
  holdCharsAnyway(chars: number): void {
    const more = this.#lacking(chars)
    if (more > 0) this.#release.push(this.#limits.heldChars.enterAnyway(this.#clients, more))
    this.#mayHold += more
  }

  #lacking(chars: number): number {
    return Math.max(0, Math.ceil((chars - this.#mayHold) / CHARS_PER_HOLD) * CHARS_PER_HOLD)
  }

  leave(): void {
    this.#mayHold = Infinity
    this.#leave()
    this.#leave = () => {}
    for (const release of this.#release.splice(0)) release()
  }
}
