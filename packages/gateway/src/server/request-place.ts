import type { SharedLimit } from './shared-limit.ts'

/** How many requests may be served, how many may wait for a change, and how many characters queries may hold. */
export interface RequestLimits {
  readonly served: SharedLimit
  readonly waiting: SharedLimit
  readonly queryChars: SharedLimit
}

/** Where one request counts: among those that are served or, meanwhile, among those that wait. */
export class RequestPlace {
  readonly #limits: RequestLimits
  #clients: readonly unknown[] = []
  #leave: () => void = () => {}
  readonly #release: (() => void)[] = []
  #hasLeft = false

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
   * Counts characters that a query holds, until the request ends. After that it counts nothing: a query that was ended
   * may compute up to its next turn.
   *
   * @throws ERR_THROTTLED
   */
  holdChars(count: number): void {
    if (this.#hasLeft) return
    this.#release.push(this.#limits.queryChars.enter(this.#clients, count))
  }

  leave(): void {
    this.#hasLeft = true
    this.#leave()
    this.#leave = () => {}
    for (const release of this.#release.splice(0)) release()
  }
}
