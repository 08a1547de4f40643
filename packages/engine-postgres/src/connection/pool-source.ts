import { StoreClosedError } from '@tidemark/contracts'
import { openPool, type OpenPoolOptions } from './platform/open-pool.ts'
import { sqlState } from './postgres-error.ts'
import type { PostgresClient, PostgresPool } from './postgres-pool.ts'

export type PoolSettings = Required<OpenPoolOptions>

/** A pooler's answer to unknown settings at the start of a connection. */
const PROTOCOL_VIOLATION = '08P01'

/**
 * The pool of one server: your own, or created here from a URL. A pool created here sends its timeouts at the start of
 * a connection. When a pooler refuses that, it tries again without them.
 */
export class PoolSource {
  readonly #url: string | undefined
  readonly #settings: PoolSettings
  #pool: PostgresPool
  #keepsSettings: boolean
  // The pool has ended the connection already; the next call makes another.
  readonly #onError = (): void => {}
  /** Errors of connections while nothing else listened. */
  readonly #failures = new WeakMap<PostgresClient, Error>()
  /**
   * The pool stops listening as soon as a connection is made, and the next listener starts when the promise has
   * resolved. Without this one, a server that ends the connection in between would end this process.
   */
  readonly #onConnect = (client: PostgresClient): void => {
    client.on('error', (error) => this.#failures.set(client, error))
  }

  constructor(from: string | PostgresPool, settings: PoolSettings) {
    this.#settings = settings
    this.#url = typeof from === 'string' ? from : undefined
    this.#keepsSettings = typeof from === 'string'
    this.#pool = typeof from === 'string' ? openPool(from, settings) : from
    this.#listen(this.#pool)
  }

  /** True when the server keeps the timeouts for each connection, false when each transaction has to set them. */
  get keepsSettings(): boolean {
    return this.#keepsSettings
  }

  /** Maximum number of connections. */
  get limit(): number {
    const { maxConnections } = this.#settings
    const max = this.#pool.options?.max
    if (this.#url !== undefined || max === undefined) return maxConnections
    // One connection of your own pool listens. Waiting for it would look like a server that is down.
    return Math.min(maxConnections, Math.max(1, max - 1))
  }

  async connect(): Promise<PostgresClient> {
    const pool = this.#pool
    if (this.#url === undefined && pool.ending === true) {
      throw new StoreClosedError('the pool that was passed in was ended')
    }
    try {
      const client = await pool.connect()
      const failure = this.#failures.get(client)
      if (failure === undefined) return client
      client.release(failure)
      throw failure
    } catch (error) {
      if (this.#url === undefined || sqlState(error) !== PROTOCOL_VIOLATION) throw error
      if (pool === this.#pool) {
        if (!this.#keepsSettings) throw error
        this.#keepsSettings = false
        this.#pool = openPool(this.#url, { ...this.#settings, settings: undefined })
        this.#listen(this.#pool)
        await pool.end()
      }
      return this.connect()
    }
  }

  /**
   * Ends a pool that was created here, and continues to listen to it. The pool ends before its connections do, and a
   * last message of the server to one of them would otherwise end this process.
   */
  async end(): Promise<void> {
    if (this.#url !== undefined) {
      await this.#pool.end()
      return
    }
    this.#pool.removeListener('error', this.#onError)
    this.#pool.removeListener('connect', this.#onConnect)
  }

  #listen(pool: PostgresPool): void {
    pool.on('error', this.#onError)
    pool.on('connect', this.#onConnect)
  }
}
