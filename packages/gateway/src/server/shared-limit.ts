import { ThrottledError } from '@tidemark/contracts'
import { shareOf } from '../platform/connections.ts'

/** A limit of all clients together. One client gets only a share of it, so that it cannot keep others out. */
export class SharedLimit {
  readonly #most: number
  readonly #mostOfOne: number
  readonly #what: string
  readonly #retryAfterMs: number
  readonly #countOf = new Map<unknown, number>()
  #count = 0

  constructor({
    most,
    share,
    what,
    retryAfterMs,
  }: {
    readonly most: number
    readonly share: number
    /** For messages, with a number before it. */
    readonly what: string
    readonly retryAfterMs: number
  }) {
    this.#most = most
    this.#mostOfOne = shareOf(most, share)
    this.#what = what
    this.#retryAfterMs = retryAfterMs
  }

  /**
   * Counts some more; the result takes them back.
   *
   * @param clients all that they are counted for, compared as keys of a map
   * @throws ERR_THROTTLED
   */
  enter(clients: readonly unknown[], count = 1): () => void {
    if (this.#count + count > this.#most) throw this.#refused(`${this.#most} ${this.#what}`)
    if (clients.some((client) => (this.#countOf.get(client) ?? 0) + count > this.#mostOfOne)) {
      throw this.#refused(`${this.#mostOfOne} ${this.#what} for this address or key alone`)
    }
    return this.enterAnyway(clients, count)
  }

  /** The same without a limit, for what was let in before. */
  enterAnyway(clients: readonly unknown[], count = 1): () => void {
    this.#add(clients, count)
    return () => this.#add(clients, -count)
  }

  #add(clients: readonly unknown[], by: number): void {
    this.#count += by
    for (const client of clients) {
      const count = (this.#countOf.get(client) ?? 0) + by
      if (count === 0) this.#countOf.delete(client)
      else this.#countOf.set(client, count)
    }
  }

  #refused(why: string): ThrottledError {
    return new ThrottledError(this.#retryAfterMs, why)
  }
}
