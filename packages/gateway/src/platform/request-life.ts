import type { ServerResponse } from 'node:http'
import { ClientGoneError } from '../errors/client-gone-error.ts'
import { RequestTimeoutError } from '../errors/request-timeout-error.ts'

/** How long a request is worth serving. */
export interface RequestLife {
  /** Aborted with ERR_CLIENT_GONE, ERR_REQUEST_TIMEOUT, or the reason that all were ended with. */
  readonly signal: AbortSignal
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
  #timer: NodeJS.Timeout | undefined
  #ended: Error | undefined

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Requests that are being served. */
  get count(): number {
    return this.#lives.size
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
      end: () => {
        outgoing.off('close', onClose)
        this.#lives.delete(life)
      },
    }
  }

  /** Ends what is being served and what comes. */
  endAll(reason: Error): void {
    this.#ended ??= reason
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
