import type { ServerResponse } from 'node:http'
import { ClientGoneError } from '../errors/client-gone-error.ts'
import { RequestTimeoutError } from '../errors/request-timeout-error.ts'

/** How long a request is worth serving. */
export interface RequestLife {
  /** Aborted with ERR_CLIENT_GONE, ERR_REQUEST_TIMEOUT, or the reason that all were ended with. */
  readonly signal: AbortSignal
  /** From now on it has no time limit, and ends with `endLasting`. For answers that go on until the client leaves. */
  last(): void
  /** It was served. */
  end(): void
}

interface Life {
  readonly controller: AbortController
  readonly untilMs: number
}

/**
 * Follows requests until their clients leave, their time is over, or all are ended. They have the same time each, so
 * that one timer does for all: it is set for the oldest, who is the first in the set.
 */
export class RequestLives {
  readonly #timeoutMs: number
  readonly #lives = new Set<Life>()
  readonly #lasting = new Set<Life>()
  #timer: NodeJS.Timeout | undefined
  #ended: Error | undefined
  #lastingEnded: Error | undefined

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Requests that are being served. */
  get count(): number {
    return this.#lives.size + this.#lasting.size
  }

  begin(outgoing: ServerResponse): RequestLife {
    const controller = new AbortController()
    const life = { controller, untilMs: performance.now() + this.#timeoutMs }
    const onClose = (): void => {
      if (!outgoing.writableFinished) controller.abort(new ClientGoneError('the client is gone'))
    }
    outgoing.once('close', onClose)
    this.#lives.add(life)
    if (this.#ended !== undefined) controller.abort(this.#ended)
    else if (this.#timer === undefined) this.#setTimer(this.#timeoutMs)
    return {
      signal: controller.signal,
      last: () => {
        this.#lives.delete(life)
        this.#lasting.add(life)
        if (this.#lastingEnded !== undefined) controller.abort(this.#lastingEnded)
      },
      end: () => {
        outgoing.off('close', onClose)
        this.#lives.delete(life)
        this.#lasting.delete(life)
      },
    }
  }

  /** Ends what would go on for ever, now and later. */
  endLasting(reason: Error): void {
    this.#lastingEnded ??= reason
    for (const { controller } of this.#lasting) controller.abort(this.#lastingEnded)
  }

  /** Ends what is being served and what comes. */
  endAll(reason: Error): void {
    this.#ended ??= reason
    this.endLasting(reason)
    clearTimeout(this.#timer)
    for (const { controller } of this.#lives) controller.abort(this.#ended)
  }

  #setTimer(delayMs: number): void {
    this.#timer = setTimeout(() => this.#endOverdue(), delayMs)
    // Who is served has a connection, which keeps the process.
    this.#timer.unref()
  }

  #endOverdue(): void {
    this.#timer = undefined
    const nowMs = performance.now()
    for (const { controller, untilMs } of this.#lives) {
      if (controller.signal.aborted) continue
      // A timer may come a fraction of a millisecond early.
      const leftMs = Math.ceil(untilMs - nowMs)
      if (leftMs > 0) {
        this.#setTimer(leftMs)
        return
      }
      const reason = `the request was not served within ${this.#timeoutMs} ms`
      controller.abort(new RequestTimeoutError(reason))
    }
  }
}
