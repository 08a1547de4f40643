import { StoreClosedError, errorCode } from '@tidemark/contracts'
import { DatabaseTurns } from './database-turns.ts'
import type { StoreMaintenanceOptions } from './maintenance-options.ts'
import { MaintenanceTally, type MaintenanceReport } from './maintenance-report.ts'

/** After errors that should never happen, such as of a clock. */
const UNEXPECTED_RETRY_MS = 60_000

/**
 * The background work of a store: one loop over all its databases. It does a piece of each in turn and then pauses at
 * least as long as the piece took, so that requests go first (TTL-5).
 */
export class StoreMaintenance {
  readonly #context: StoreMaintenanceOptions
  readonly #turns: DatabaseTurns
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  constructor(context: StoreMaintenanceOptions) {
    this.#context = context
    this.#turns = new DatabaseTurns(context)
  }

  /** Begins the loop, unless the work is left to `runAll`. */
  start(): void {
    if (this.#context.options.mode === 'automatic') this.#loop ??= this.#run(this.#stop.signal)
  }

  /**
   * Does all work that is due now. Rejects with the first failure. If a database cannot be opened, it rejects after it
   * has done the others.
   */
  async runAll(): Promise<MaintenanceReport> {
    const { signal } = this.#stop
    const tally = new MaintenanceTally()
    const [unopened] = await this.#turns.list()
    try {
      for (const seat of this.#turns.all) await this.#turns.drain(seat, { tally, signal })
    } finally {
      // Otherwise no other process could do the work until the lease expired.
      if (this.#loop === undefined) await this.#turns.releaseAll()
    }
    if (unopened !== undefined) throw unopened.error
    return tally.report()
  }

  /** Resolves when the loop has ended and the leases are released. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end()
    return this.#stopping
  }

  async #end(): Promise<void> {
    this.#stop.abort(new StoreClosedError('the store was closed'))
    await this.#loop
    await this.#turns.releaseAll()
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const delayMs = await this.#turn(signal)
        await this.#context.clock.sleep(delayMs, signal, { purpose: 'background' })
      }
    } catch (error) {
      if (!signal.aborted && errorCode(error) !== 'ERR_STORE_CLOSED') throw error
    }
  }

  /** The loop continues after any error: its end would go unnoticed. */
  async #turn(signal: AbortSignal): Promise<number> {
    try {
      return await this.#turns.turn(signal)
    } catch (error) {
      if (signal.aborted || errorCode(error) === 'ERR_STORE_CLOSED') throw error
      this.#context.events.emit('maintenanceFailed', {
        databaseId: undefined,
        collectionId: undefined,
        work: 'look',
        error,
        retryInMs: UNEXPECTED_RETRY_MS,
      })
      return UNEXPECTED_RETRY_MS
    }
  }
}
