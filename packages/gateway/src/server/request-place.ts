import type { SharedLimit } from './shared-limit.ts'

/** How many requests may be served, and how many may wait for a change. */
export interface RequestLimits {
  readonly served: SharedLimit
  readonly waiting: SharedLimit
}

/** Where one request counts: among those that are served or, meanwhile, among those that wait. */
export class RequestPlace {
  readonly #limits: RequestLimits
  #clients: readonly unknown[] = []
  #leave: () => void = () => {}

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

  leave(): void {
    this.#leave()
    this.#leave = () => {}
  }
}
