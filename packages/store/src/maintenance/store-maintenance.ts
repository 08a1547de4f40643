import { StoreClosedError, errorCode, type Clock, type Random } from '@tidemark/contracts'
import type { StorageEngine } from '../engine/storage-engine.ts'
import type { StoreEventEmitter } from '../events/store-event-emitter.ts'
import { DatabaseTurns } from './database-turns.ts'
import type { ResolvedMaintenanceOptions } from './maintenance-options.ts'
import { MaintenanceTally, type MaintenanceReport } from './maintenance-report.ts'

export interface StoreMaintenanceOptions {
  readonly engine: StorageEngine
  readonly clock: Clock
  readonly random: Random
  readonly events: StoreEventEmitter
  readonly options: ResolvedMaintenanceOptions
}

/** After what should never fail, such as a clock. */
const UNEXPECTED_RETRY_MS = 60_000

/**
 * The background work of a store: one loop over all its databases, which does a piece of each in turn
 * and pauses at least as long as that took, so that requests go first (TTL-5).
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

  /** Does all that is due now. Rejects with what the first failure was; of a database that cannot be opened after the others. */
  async runAll(): Promise<MaintenanceReport> {
    const { signal } = this.#stop
    const tally = new MaintenanceTally()
    const [unopened] = await this.#turns.list()
    try {
      for (const seat of this.#turns.all) await this.#turns.drain(seat, { tally, signal })
    } finally {
      // Nobody else could do anything until the lease ran out.
      if (this.#loop === undefined) await this.#turns.releaseAll()
    }
    if (unopened !== undefined) throw unopened.error
    return tally.report()
  }

  /** Resolves when nothing of it is left, and the right to do it was given back. Idempotent. */
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

  /** Whatever goes wrong, the loop goes on: nobody else would see that it had ended. */
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
