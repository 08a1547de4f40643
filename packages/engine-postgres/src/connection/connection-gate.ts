import { StoreClosedError, type Clock, type Random } from '@tidemark/contracts'
import { backoffMs } from './backoff.ts'
import type { Deadlines } from './deadlines.ts'
import type { PoolSource } from './pool-source.ts'
import { isLastingRefusal, sqlState, storeError } from './postgres-error.ts'
import type { PostgresClient } from './postgres-pool.ts'
import { Session, type SessionOptions } from './session.ts'

export interface GateOptions {
  readonly outageTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly deadlines: Deadlines
  sessionOptions(): SessionOptions
  /** Time limit for ending all connections. */
  readonly endLimitMs: number
}

export interface TakeOptions {
  readonly signal?: AbortSignal | undefined
  /** Monotonic time after which it stops waiting for the end of an outage. @default `outageTimeoutMs` from now */
  readonly giveUpAtMs?: number | undefined
}

interface Waiter {
  readonly signal: AbortSignal | undefined
  readonly sinceMs: number
  readonly giveUpAtMs: number | undefined
  resolve(session: Session): void
  reject(error: unknown): void
  /** Stops the timer for the wait during an outage. */
  disarm: () => void
}

/** A server that is starting, or has no free connection at the moment. */
const STARTING = new Set(['57P03', '53300'])

/**
 * Assigns the connections of one server, in the order of the requests, and never more at once than the pool allows.
 * While the server is down, it makes one attempt at a time for all waiting callers. Each waits at most
 * `outageTimeoutMs`. The wait for another caller to return a connection has no limit.
 *
 * Before the first connection there is no outage: a server that cannot be reached is reported at once.
 */
export class ConnectionGate {
  readonly #source: PoolSource
  readonly #options: GateOptions
  readonly #waiters: Waiter[] = []
  readonly #closing = new AbortController()
  #held = 0
  #reached = false
  /** Since when, and why, the server does not answer. */
  #down: { readonly sinceMs: number; error: unknown } | undefined
  #recovery: Promise<void> | undefined
  #idle: PromiseWithResolvers<void> | undefined

  constructor(source: PoolSource, options: GateOptions) {
    this.#source = source
    this.#options = options
  }

  /** Rejects with a coded error, or with the signal's reason. */
  take({ signal, giveUpAtMs }: TakeOptions = {}): Promise<Session> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const waiter: Waiter = {
        signal,
        sinceMs: this.#options.clock.monotonicMs(),
        giveUpAtMs,
        resolve: (session) => {
          signal?.removeEventListener('abort', abort)
          waiter.disarm()
          resolve(session)
        },
        reject: (error) => {
          signal?.removeEventListener('abort', abort)
          waiter.disarm()
          reject(error)
        },
        disarm: () => {},
      }
      const abort = (): void => {
        const index = this.#waiters.indexOf(waiter)
        if (index >= 0) this.#waiters.splice(index, 1)
        waiter.reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiters.push(waiter)
      if (this.#down !== undefined) this.#wait(waiter)
      this.#handOut()
    })
  }

  /** Returns a connection from `take`. Returns at once; the connection is free when nothing runs on it. */
  give(session: Session, options?: { end?: boolean }): void {
    void session.release(options).then((healthy) => {
      this.#held--
      // Its server answered, so waiting callers need not get the error of an outage.
      if (healthy) this.#up()
      this.#handOut()
    })
  }

  /** From now on, it does not wait for the end of an outage. */
  shut(): void {
    this.#closing.abort()
    if (this.#down === undefined) return
    this.#rejectAll(new StoreClosedError('the store was closed'))
    this.#down = undefined
  }

  /** Ends a pool that was made here, when all connections were returned. */
  async end(): Promise<void> {
    this.shut()
    await this.#recovery
    if (this.#held > 0) {
      this.#idle = Promise.withResolvers()
      await this.#idle.promise
    }
    // A server that has vanished does not confirm the end of a connection.
    const ended = new AbortController()
    const limit = this.#options.clock.sleep(this.#options.endLimitMs, ended.signal).catch(() => {})
    await Promise.race([this.#source.end(), limit])
    ended.abort()
  }

  #handOut(): void {
    while (this.#down === undefined && this.#held < this.#source.limit) {
      const waiter = this.#waiters.shift()
      if (waiter === undefined) break
      this.#held++
      void this.#connectFor(waiter)
    }
    if (this.#down !== undefined && this.#recovery === undefined) {
      if (this.#waiters.length > 0) this.#recovery = this.#recover()
      // The recovery has ended, so the next caller has to start one.
      else this.#down = undefined
    }
    if (this.#held === 0) this.#idle?.resolve()
  }

  /** Never rejects. */
  async #connectFor(waiter: Waiter): Promise<void> {
    try {
      this.#connected(await this.#source.connect(), waiter)
    } catch (error) {
      this.#held--
      if (waiter.signal?.aborted === true) {
        // It has been rejected already.
      } else if (this.#waitsFor(error)) {
        this.#goDown(error)
        this.#waiters.unshift(waiter)
        this.#wait(waiter)
      } else {
        waiter.reject(storeError(error))
      }
      this.#handOut()
    }
  }

  #connected(client: PostgresClient, waiter: Waiter | undefined): void {
    this.#reached = true
    const session = new Session(client, this.#options.sessionOptions())
    if (waiter === undefined || waiter.signal?.aborted === true) this.give(session)
    else waiter.resolve(session)
  }

  #waitsFor(error: unknown): boolean {
    if (this.#closing.signal.aborted) return false
    if (!this.#reached) return STARTING.has(sqlState(error) ?? '')
    return !isLastingRefusal(error)
  }

  #goDown(error: unknown): void {
    if (this.#down !== undefined) {
      this.#down.error = error
      return
    }
    this.#down = { sinceMs: this.#options.clock.monotonicMs(), error }
    // A copy, because a waiter that has waited long enough is removed.
    for (const waiter of this.#waiters.slice()) this.#wait(waiter)
  }

  #up(): void {
    if (this.#down === undefined) return
    this.#down = undefined
    for (const waiter of this.#waiters) waiter.disarm()
  }

  /** Waits for the server, with a limit. */
  #wait(waiter: Waiter): void {
    const { clock, outageTimeoutMs, deadlines } = this.#options
    const sinceMs = Math.max(waiter.sinceMs, this.#down?.sinceMs ?? 0)
    const giveUpAtMs = waiter.giveUpAtMs ?? sinceMs + outageTimeoutMs
    const giveUp = (): void => {
      const index = this.#waiters.indexOf(waiter)
      if (index < 0) return
      this.#waiters.splice(index, 1)
      waiter.reject(storeError(this.#down?.error))
    }
    const leftMs = giveUpAtMs - clock.monotonicMs()
    waiter.disarm()
    if (leftMs <= 0) giveUp()
    else waiter.disarm = deadlines.add(leftMs, giveUp)
  }

  #rejectAll(error: unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
  }

  /** Tries to connect until the server is back or no caller waits any more. */
  async #recover(): Promise<void> {
    const { clock, random } = this.#options
    for (let attempt = 1; this.#down !== undefined && this.#waiters.length > 0; attempt++) {
      try {
        await clock.sleep(backoffMs(attempt, random), this.#closing.signal)
      } catch {
        break
      }
      // Holders of connections detect it themselves.
      if (this.#held >= this.#source.limit || this.#down === undefined) continue
      this.#held++
      try {
        const client = await this.#source.connect()
        this.#up()
        this.#connected(client, this.#waiters.shift())
      } catch (error) {
        this.#held--
        if (this.#waitsFor(error)) {
          if (this.#down !== undefined) this.#down.error = error
        } else {
          this.#up()
          this.#rejectAll(storeError(error))
        }
      }
    }
    this.#recovery = undefined
    this.#handOut()
  }
}
