import type { Clock, Random } from '@tidemark/contracts'
import { backoffMs } from '../connection/backoff.ts'
import { sqlState } from '../connection/postgres-error.ts'
import type { PostgresNotification, PostgresPool } from '../connection/postgres-pool.ts'
import { quoteIdentifier } from '../connection/statements.ts'
import { Listener } from './listener.ts'
import { parseRing } from './ring-payload.ts'
import type { Touched } from './touched-range.ts'

export interface DoorbellOptions {
  /**
   * Where to listen. @default `listenUrl`, else `url`, else a permanent connection of `pool` if it has more than one
   */
  readonly url?: string | undefined
  /** Bypasses a pooler, which does not deliver notifications. */
  readonly listenUrl?: string | undefined
  readonly pool?: PostgresPool | undefined
  readonly channel: string
  /** The `origin` of this process' own ringer, whose notifications are ignored. @default hears its own too */
  readonly origin?: string | undefined
  readonly connectTimeoutMs?: number | undefined
  readonly applicationName?: string | undefined
  readonly clock: Clock
  readonly random: Random
  /** Another process committed something. */
  readonly onRing: (touched: Touched) => void
  /** It is connected again. Earlier notifications are lost, so all readers must check. */
  readonly onConnected: () => void
  /** It is not connected any more. */
  readonly onLost?: (() => void) | undefined
}

const CONNECT_TIMEOUT_MS = 5_000
/** How often to test that the connection still works: a silent loss shows in no other way. */
const TEST_INTERVAL_MS = 15_000
/** Time until the next attempt at a server that does not support it. */
const REFUSED_MS = 30_000

/**
 * Receives the notifications of other processes over one LISTEN connection, which is replaced whenever it is lost. It
 * only saves time. Notifications are lost while it is not connected. It never connects through a pooler in transaction
 * mode (which is detected) or to a server without notifications. So readers must also poll.
 */
export class Doorbell {
  readonly #options: DoorbellOptions
  readonly #stop = new AbortController()
  #connected = false
  #run: Promise<void> | undefined
  #echo: { readonly token: string; resolve(): void } | undefined
  #firstAttempt: Promise<void> | undefined

  constructor(options: DoorbellOptions) {
    this.#options = options
  }

  /** Whether notifications are received at present. */
  get isConnected(): boolean {
    return this.#connected
  }

  /** Resolves after the first attempt to connect, successful or not. */
  async start(): Promise<void> {
    if (this.#run === undefined) {
      const first = Promise.withResolvers<void>()
      this.#firstAttempt = first.promise
      this.#run = this.#listen(() => first.resolve())
    }
    await this.#firstAttempt
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#run
  }

  async #listen(onAttempt: () => void): Promise<void> {
    const { clock, random, applicationName = 'tidemark' } = this.#options
    const { connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options
    const from = placeOf(this.#options)
    for (let attempt = 1; from !== undefined && !this.#stop.signal.aborted; attempt++) {
      let refused = false
      const listener = new Listener({ from, connectTimeoutMs, applicationName }, (message) =>
        this.#heard(message),
      )
      try {
        await this.#connect(listener)
        attempt = 0
        onAttempt()
        await this.#stay(listener)
      } catch (error) {
        refused = isRefusal(error)
      }
      if (this.#connected) {
        this.#connected = false
        this.#options.onLost?.()
      }
      await this.#end(listener)
      onAttempt()
      const delayMs = refused ? REFUSED_MS : backoffMs(Math.max(1, attempt), random)
      await clock.sleep(delayMs, this.#stop.signal, BACKGROUND).catch(() => {})
    }
    onAttempt()
  }

  async #connect(listener: Listener): Promise<void> {
    const { channel, onConnected } = this.#options
    await this.#inTime(listener, listener.connect())
    // A pooler uses numbers of its own, because its clients have no sessions of their own.
    const pid = await this.#inTime(listener, listener.query('SELECT pg_backend_pid()'))
    if (Number(pid) !== listener.processId) throw new NoNotificationsError()
    await this.#inTime(listener, listener.query(`LISTEN ${quoteIdentifier(channel)}`))
    await this.#test(listener)
    this.#connected = true
    onConnected()
  }

  /** Runs until the connection is lost or this is stopped. Always rejects. */
  async #stay(listener: Listener): Promise<never> {
    for (;;) {
      await this.#within(TEST_INTERVAL_MS, listener.lost).catch((error: unknown) => {
        if (!(error instanceof TimeIsUpError)) throw error
      })
      await this.#test(listener)
    }
  }

  /** A server that has vanished does not confirm the end of a connection. */
  async #end(listener: Listener): Promise<void> {
    const { clock, connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options
    const ended = new AbortController()
    const limit = clock.sleep(connectTimeoutMs, ended.signal).catch(() => {})
    await Promise.race([listener.end(), limit])
    ended.abort()
  }

  /** Notifies itself: some servers accept LISTEN and do nothing, and a dead connection stays silent. */
  async #test(listener: Listener): Promise<void> {
    const { channel, random } = this.#options
    const token = `${TEST_MARK}${random.hex(8)}`
    const echo = Promise.withResolvers<void>()
    this.#echo = { token, resolve: echo.resolve }
    const notify = `SELECT pg_notify('${channel.replaceAll("'", "''")}', '${token}')`
    await this.#inTime(listener, Promise.all([listener.query(notify), echo.promise]))
  }

  #heard({ channel, payload = '' }: PostgresNotification): void {
    if (channel !== this.#options.channel) return
    if (payload === this.#echo?.token) this.#echo.resolve()
    if (payload.startsWith(TEST_MARK) || !this.#connected) return
    const { origin, touched } = parseRing(payload)
    if (origin === '' || origin !== this.#options.origin) this.#options.onRing(touched)
  }

  #inTime<Result>(listener: Listener, promise: Promise<Result>): Promise<Result> {
    const { connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options
    return this.#within(connectTimeoutMs, Promise.race([promise, listener.lost]))
  }

  /** Rejects with `TimeIsUpError` after `delayMs`, and when this is stopped. */
  async #within<Result>(delayMs: number, promise: Promise<Result>): Promise<Result> {
    const done = new AbortController()
    const signal = AbortSignal.any([done.signal, this.#stop.signal])
    const timer = this.#options.clock.sleep(delayMs, signal, BACKGROUND).then(() => {
      throw new TimeIsUpError()
    })
    try {
      return await Promise.race([promise, timer])
    } finally {
      done.abort()
      await timer.catch(() => {})
    }
  }
}

const BACKGROUND = { purpose: 'background' } as const
/** First character of a doorbell's message to itself. */
const TEST_MARK = '?'

class TimeIsUpError extends Error {}
class NoNotificationsError extends Error {}

/** Errors that will not change soon: a pooler, a server without LISTEN, no right to connect. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NoNotificationsError) return true
  const state = sqlState(error)
  return state !== undefined && /^(0A|28|42|3D)/.test(state)
}

/** A pool with one connection cannot spare it. */
function placeOf({ listenUrl, url, pool }: DoorbellOptions): string | PostgresPool | undefined {
  return listenUrl ?? url ?? (pool?.options?.max === 1 ? undefined : pool)
}
