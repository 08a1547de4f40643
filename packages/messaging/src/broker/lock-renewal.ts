import type { Clock } from '@tidemark/contracts'
import { isRetryable } from '../errors/is-retryable.ts'
import { Bell } from './bell.ts'
import type { LockEnd } from './received.ts'

/** A lock that is renewed until it is no longer needed. */
export interface RenewedLock {
  readonly token: string
  readonly end: LockEnd
  /** No renewal after this, by the monotonic clock. */
  readonly renewUntilMs: number
  readonly onRenewed: (end: LockEnd) => void
  /** It ended all the same. It is not renewed any more. */
  readonly onLost: (error: unknown) => void
}

export interface LockRenewalParts {
  readonly clock: Clock
  /** In the order of the tokens: the new end, or why there is none. */
  readonly renew: (tokens: readonly string[]) => Promise<readonly (LockEnd | Error)[]>
}

interface Entry {
  readonly lock: RenewedLock
  endsAtMs: number
  renewAtMs: number
}

/** Until the next attempt, when the store could not be reached. */
const RETRY_MS = 1_000

/**
 * Renews the locks of messages whose handlers run, each when half of its time is left. There is one timer, and none once
 * half of a lock's time has passed without a lock.
 */
export class LockRenewal {
  readonly #parts: LockRenewalParts
  readonly #entries = new Map<string, Entry>()
  readonly #bell: Bell
  readonly #stop = new AbortController()
  #wakesAtMs = Infinity
  #run: Promise<void> | undefined

  constructor(parts: LockRenewalParts) {
    this.#parts = parts
    this.#bell = new Bell(parts.clock)
  }

  add(lock: RenewedLock): void {
    const entry = { lock, endsAtMs: 0, renewAtMs: 0 }
    this.#plan(entry, lock.end)
    this.#entries.set(lock.token, entry)
    if (this.#run === undefined) this.#run = this.#renewWhile()
    else if (entry.renewAtMs < this.#wakesAtMs) this.#bell.ring()
  }

  /** Somebody else renewed it. */
  extend(token: string, end: LockEnd): void {
    const entry = this.#entries.get(token)
    if (entry !== undefined) this.#plan(entry, end)
  }

  /**
   * It is settled, or its handler has ended. The timer stays until it fires, which is cheaper than one for each of many
   * messages that are settled at once.
   */
  remove(token: string): void {
    this.#entries.delete(token)
  }

  async close(): Promise<void> {
    this.#entries.clear()
    this.#stop.abort()
    await this.#run
  }

  async #renewWhile(): Promise<void> {
    const { clock } = this.#parts
    while (this.#entries.size > 0) {
      const nextMs = Math.min(...[...this.#entries.values()].map(({ renewAtMs }) => renewAtMs))
      const delayMs = nextMs - clock.monotonicMs()
      if (delayMs > 0) {
        this.#wakesAtMs = nextMs
        await this.#bell.wait(delayMs === Infinity ? undefined : delayMs, this.#stop.signal)
      } else {
        await this.#renewDue()
      }
    }
    this.#run = undefined
  }

  async #renewDue(): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs()
    const due = [...this.#entries.values()].filter(({ renewAtMs }) => renewAtMs <= nowMs)
    let answers: readonly (LockEnd | Error)[]
    try {
      answers = await this.#parts.renew(due.map(({ lock }) => lock.token))
    } catch (error) {
      for (const entry of due) this.#retry(entry, error)
      return
    }
    for (const [place, entry] of due.entries()) {
      // It was settled meanwhile: that its lock is gone says nothing.
      if (this.#entries.get(entry.lock.token) !== entry) continue
      const answer = answers[place]
      if (answer === undefined) continue
      if (answer instanceof Error) {
        this.#lose(entry, answer)
      } else {
        this.#plan(entry, answer)
        entry.lock.onRenewed(answer)
      }
    }
  }

  #retry(entry: Entry, error: unknown): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (isRetryable(error) && entry.endsAtMs > nowMs) {
      entry.renewAtMs = Math.min(nowMs + RETRY_MS, Math.max(entry.endsAtMs, nowMs + 1))
    } else if (this.#entries.get(entry.lock.token) === entry) {
      this.#lose(entry, error)
    }
  }

  #lose(entry: Entry, error: unknown): void {
    this.#entries.delete(entry.lock.token)
    entry.lock.onLost(error)
  }

  #plan(entry: Entry, { endsAtMs }: LockEnd): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const renewAtMs = nowMs + (endsAtMs - nowMs) / 2
    entry.endsAtMs = endsAtMs
    // Without another renewal it ends in time, as the user wanted.
    entry.renewAtMs = renewAtMs <= entry.lock.renewUntilMs ? renewAtMs : Infinity
  }
}
