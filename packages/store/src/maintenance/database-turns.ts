import { errorCode } from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import type { StoreEvents } from '../events/store-events.ts'
import { DatabaseMaintenance, type MaintenanceStep } from './database-maintenance.ts'
import { failureDelayMs } from './failure-delay.ts'
import type { StoreMaintenanceOptions } from './maintenance-options.ts'
import type { MaintenanceTally } from './maintenance-report.ts'

/** One database in the rotation. */
export interface DatabaseSeat {
  readonly maintenance: DatabaseMaintenance
  /** Monotonic time before which there is nothing to do, as far as is known. */
  dueMs: number
  sizesDueMs: number
  failures: number
  /** Steps of the loop and of `runAll` run one after another. */
  last: Promise<void>
}

export interface UnopenedDatabase {
  readonly databaseId: string
  readonly error: unknown
}

/** The work must get done even under constant load. */
const LONGEST_PAUSE_MS = 100

/** All databases of a store, and whose turn it is. A failure becomes an event, and the work is tried again later. */
export class DatabaseTurns {
  readonly #context: StoreMaintenanceOptions
  readonly #holder: string
  readonly #seats = new Map<string, DatabaseSeat>()
  #listDueMs = 0
  #listFailures = 0

  constructor(context: StoreMaintenanceOptions) {
    this.#context = context
    this.#holder = `store-${context.random.hex(8)}`
  }

  get all(): Iterable<DatabaseSeat> {
    return [...this.#seats.values()]
  }

  /** Adds new databases, and forgets those that are gone. Returns those that it could not open. */
  async list(): Promise<readonly UnopenedDatabase[]> {
    const unopened: UnopenedDatabase[] = []
    const { engine, clock, events, options } = this.#context
    const present = new Map((await engine.listDatabases()).map(({ id, rid }) => [rid, id]))
    for (const rid of this.#seats.keys()) {
      if (!present.has(rid)) this.#seats.delete(rid)
    }
    for (const [rid, databaseId] of present) {
      if (this.#seats.has(rid)) continue
      try {
        const database = await engine.openDatabase(databaseId)
        const maintenance = new DatabaseMaintenance({
          databaseId,
          engine: database,
          holder: this.#holder,
          clock,
          events,
          options,
        })
        const nowMs = this.#nowMs()
        this.#seats.set(rid, {
          maintenance,
          dueMs: nowMs,
          sizesDueMs: nowMs,
          failures: 0,
          last: Promise.resolve(),
        })
      } catch (error) {
        if (errorCode(error) === 'ERR_STORE_CLOSED') throw error
        // Deleted since it was listed.
        if (errorCode(error) !== 'ERR_NOT_FOUND') unopened.push({ databaseId, error })
      }
    }
    return unopened
  }

  /** One step of every database that is due. Returns how long to wait before the next turn. */
  async turn(signal: AbortSignal): Promise<number> {
    const { options } = this.#context
    const beganMs = this.#nowMs()
    if (beganMs >= this.#listDueMs) await this.#listOrReport()
    let isBusy = false
    for (const seat of this.all) {
      signal.throwIfAborted()
      if (this.#nowMs() < seat.dueMs) continue
      isBusy = (await this.#stepOrReport(seat)) || isBusy
    }
    const endedMs = this.#nowMs()
    if (isBusy) return Math.max(options.pauseMs, Math.min(LONGEST_PAUSE_MS, endedMs - beganMs))
    let nextMs = this.#listDueMs
    for (const { dueMs } of this.#seats.values()) nextMs = Math.min(nextMs, dueMs)
    return Math.max(1, nextMs - endedMs)
  }

  /** Steps of one database until nothing is due. */
  async drain(
    seat: DatabaseSeat,
    { tally, signal }: { readonly tally: MaintenanceTally; readonly signal: AbortSignal },
  ): Promise<void> {
    const { maintenance } = seat
    await this.#exclusively(seat, async () => {
      maintenance.begin()
      maintenance.checkSizes()
      for (;;) {
        signal.throwIfAborted()
        const step = await this.#step(seat)
        if (step === undefined) return
        tally.add(maintenance.databaseId, step)
        if (step.kind === 'idle' || step.kind === 'held') return
        // An engine may work on this thread; timers must still run.
        await eventLoopTurn()
      }
    })
  }

  /** Never rejects: a lease that is not released expires. */
  async releaseAll(): Promise<void> {
    for (const seat of this.all) {
      const { maintenance } = seat
      try {
        await this.#exclusively(seat, () => maintenance.release())
      } catch (error) {
        if (isOver(error)) continue
        this.#report(error, { databaseId: maintenance.databaseId, work: 'release', retryInMs: 0 })
      }
    }
  }

  async #listOrReport(): Promise<void> {
    const { intervalMs } = this.#context.options
    const failed: { readonly databaseId: string | undefined; readonly error: unknown }[] = []
    try {
      failed.push(...(await this.list()))
    } catch (error) {
      if (errorCode(error) === 'ERR_STORE_CLOSED') throw error
      failed.push({ databaseId: undefined, error })
    }
    this.#listFailures = failed.length === 0 ? 0 : this.#listFailures + 1
    const retryInMs = failed.length === 0 ? intervalMs : this.#delayMs(this.#listFailures)
    this.#listDueMs = this.#nowMs() + retryInMs
    for (const { databaseId, error } of failed) {
      this.#report(error, { databaseId, work: 'look', retryInMs })
    }
  }

  /** True when there is more to do at once. */
  async #stepOrReport(seat: DatabaseSeat): Promise<boolean> {
    const { maintenance } = seat
    if (this.#nowMs() >= seat.sizesDueMs) {
      maintenance.checkSizes()
      seat.sizesDueMs = this.#nowMs() + this.#context.options.splitCheckMs
    }
    try {
      let step: MaintenanceStep | undefined
      await this.#exclusively(seat, async () => {
        step = await this.#step(seat)
      })
      // One task may fail repeatedly while the others succeed.
      if (step?.kind === 'idle' || step?.kind === 'held') seat.failures = 0
      seat.dueMs = this.#nowMs() + this.#restMs(seat, step)
      return seat.dueMs <= this.#nowMs()
    } catch (error) {
      if (errorCode(error) === 'ERR_STORE_CLOSED') throw error
      seat.failures += 1
      const retryInMs = this.#delayMs(seat.failures)
      seat.dueMs = this.#nowMs() + retryInMs
      this.#report(error, {
        databaseId: maintenance.databaseId,
        ...maintenance.attempted,
        retryInMs,
      })
      return false
    }
  }

  /** Undefined when the database is gone. */
  async #step(seat: DatabaseSeat): Promise<MaintenanceStep | undefined> {
    try {
      const step = await seat.maintenance.step()
      return step.kind === 'looked' ? await seat.maintenance.step() : step
    } catch (error) {
      if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
      for (const [rid, other] of this.#seats) {
        if (other === seat) this.#seats.delete(rid)
      }
      return undefined
    }
  }

  #restMs({ maintenance }: DatabaseSeat, step: MaintenanceStep | undefined): number {
    const { intervalMs } = this.#context.options
    if (step?.kind !== 'idle' && step?.kind !== 'held') return 0
    const dueMs = step.kind === 'idle' ? step.nextDueMs : step.untilMs
    if (dueMs === undefined) return intervalMs
    return Math.min(intervalMs, Math.max(1, dueMs - maintenance.engine.nowMs()))
  }

  async #exclusively(seat: DatabaseSeat, act: () => Promise<void>): Promise<void> {
    const before = seat.last
    const { promise, resolve } = Promise.withResolvers<void>()
    seat.last = promise
    await before
    try {
      await act()
    } finally {
      resolve()
    }
  }

  #report(
    error: unknown,
    about: {
      readonly databaseId: string | undefined
      readonly collectionId?: string | undefined
      readonly work: StoreEvents['maintenanceFailed']['work']
      readonly retryInMs: number
    },
  ): void {
    this.#context.events.emit('maintenanceFailed', { collectionId: undefined, ...about, error })
  }

  #delayMs(failures: number): number {
    return failureDelayMs(failures, this.#context.random.fraction())
  }

  #nowMs(): number {
    return this.#context.clock.monotonicMs()
  }
}

function isOver(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ERR_STORE_CLOSED' || code === 'ERR_NOT_FOUND'
}
