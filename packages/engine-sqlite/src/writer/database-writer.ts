import type { Connection } from '../connection/connection.ts'
import { isBusy, portableError } from '../connection/sqlite-error.ts'
import { carryOut, MaintenanceMemory } from './carry-out.ts'
import { firstGroup } from './first-group.ts'
import { purgeDropped } from './collection-writes.ts'
import { TransactionState } from './transaction-state.ts'
import type { UnsyncedCommits } from './unsynced-commits.ts'
import type { WriterReply, WriterRequest } from './writer-messages.ts'

/** Blocks the writer's thread, which has nothing else to do while another process writes. */
export interface BlockingClock {
  sleep(ms: number): void
  monotonicMs(): number
  /** Uniform in [0, 1). */
  fraction(): number
}

/** A writer that saw another process' commits within this time lets others go first after a group. */
const SHARED_WINDOW_MS = 100
const LOCK_RETRY_MS = 1
const MIN_PAUSE_MS = 0.5
/** A group takes no further request after this time: other processes' commits wait for its end. */
const MAX_GROUP_MS = 50
/** A group that held the lock for this long is followed by a pause in which every waiting process tries once. */
const LONG_GROUP_MS = 10
const LONG_PAUSE_MS: number = 2 * LOCK_RETRY_MS

export interface DatabaseWriterOptions {
  /** The database, as messages name it. */
  readonly name: string
  readonly segmentSlots: number
  /** How long a group waits for other processes' writers. */
  readonly lockTimeoutMs: number
  readonly maxGroupOperations: number
  /** Called before each commit. Throws when nobody could read what is written. */
  readonly assertUsable: () => void
  /** Undefined in memory, where nothing is synced. */
  readonly unsynced?: UnsyncedCommits | undefined
}

/**
 * The only writer to a database in this process. Takes requests in groups: one transaction and one disk sync for all
 * that wait (decision 0021, rule 1).
 */
export class DatabaseWriter {
  readonly #connection: Connection
  readonly #options: DatabaseWriterOptions
  readonly #clock: BlockingClock
  readonly #state: TransactionState
  readonly #memory = new MaintenanceMemory()
  #sharedUntilMs = -1
  #lastGroupMs = 0

  constructor(connection: Connection, options: DatabaseWriterOptions, clock: BlockingClock) {
    this.#connection = connection
    this.#options = options
    this.#clock = clock
    this.#state = new TransactionState(connection, options.segmentSlots)
  }

  /**
   * Carries out the first of these requests, as many as fit into one transaction: one reply each, in order. Replies are
   * sent only when their writes are durable, except for commits that do not wait for that. Another process that holds
   * the lock for too long fails all requests that waited for it. Throws when commits that were answered cannot be synced.
   */
  runGroup(waiting: readonly WriterRequest[]): readonly WriterReply[] {
    const group = firstGroup(waiting, this.#options.maxGroupOperations)
    const replies = this.#runGroup(group, waiting)
    const { unsynced } = this.#options
    const isFlush = ({ task }: WriterRequest): boolean => task.kind === 'flush'
    if (unsynced?.dueInMs === 0 || group.slice(0, replies.length).some(isFlush)) unsynced?.sync()
    return replies
  }

  #runGroup(
    group: readonly WriterRequest[],
    waiting: readonly WriterRequest[],
  ): readonly WriterReply[] {
    if (group.every(({ task }) => task.kind === 'flush')) {
      return group.map(({ id }) => ({ id, result: { kind: 'done' } }))
    }
    try {
      return this.#inTransaction(group, () => this.#replies(group))
    } catch (error) {
      this.#options.unsynced?.assertNotLost(error)
      if (isBusy(error)) return waiting.map(({ id }) => this.#failure(id, error))
      if (group.length > 1) return this.#oneByOne(group, waiting)
      return group.map(({ id }) => this.#failure(id, error))
    }
  }

  /** One of them cannot be carried out; each of the others can, alone. */
  #oneByOne(
    group: readonly WriterRequest[],
    waiting: readonly WriterRequest[],
  ): readonly WriterReply[] {
    const replies: WriterReply[] = []
    for (const request of group) {
      this.yieldToOthers()
      try {
        replies.push(...this.#inTransaction([request], () => this.#replies([request])))
      } catch (error) {
        this.#options.unsynced?.assertNotLost(error)
        // Requests that waited as long do not wait for the same lock again.
        const failed = isBusy(error) ? waiting.slice(replies.length) : [request]
        replies.push(...failed.map(({ id }) => this.#failure(id, error)))
        if (isBusy(error)) break
      }
    }
    return replies
  }

  /** Deletes some rows of removed collections. False when nothing is left to do. Throws as `runGroup` does. */
  purge(): boolean {
    try {
      return this.#inTransaction([], () => purgeDropped(this.#connection))
    } catch (error) {
      this.#options.unsynced?.assertNotLost(error)
      // Housekeeping: the rest is done after the next start.
      return false
    }
  }

  /** Lets other writing processes have their turn, if there are any. */
  yieldToOthers(): void {
    const isShared = this.#clock.monotonicMs() <= this.#sharedUntilMs
    const isLong = this.#lastGroupMs >= LONG_GROUP_MS
    this.#lastGroupMs = 0
    if (!isLong && !isShared) return
    this.#clock.sleep((isLong ? LONG_PAUSE_MS : MIN_PAUSE_MS) + this.#clock.fraction())
  }

  /** Everything is on disk afterwards, or it throws. */
  close(): void {
    const { unsynced } = this.#options
    try {
      if (unsynced?.isMarked === true) this.#endUnsynced(unsynced)
    } finally {
      unsynced?.close()
      this.#connection.close()
    }
  }

  #endUnsynced(unsynced: UnsyncedCommits): void {
    unsynced.sync()
    try {
      unsynced.begin([])
      this.#begin()
      // Of a deleted database, too: nobody opens it again.
      unsynced.removeMark()
      this.#connection.exec('COMMIT')
    } catch {
      // After the next boot, an epoch begins that is not needed.
      this.#connection.rollback()
    }
  }

  #inTransaction<Result>(requests: readonly WriterRequest[], act: () => Result): Result {
    const { unsynced } = this.#options
    unsynced?.begin(requests)
    this.#begin()
    const beganMs = this.#clock.monotonicMs()
    let result: Result
    let advanced: boolean
    try {
      const hadOthers = this.#state.refresh()
      if (hadOthers) this.#sharedUntilMs = this.#clock.monotonicMs() + SHARED_WINDOW_MS
      const { dropped } = this.#state.catalog
      if (!dropped) unsynced?.began(requests, { hadOthers })
      result = act()
      advanced = this.#state.store()
      // Nothing is written to a deleted database, and its file may be gone.
      if (!dropped) this.#options.assertUsable()
      this.#connection.exec('COMMIT')
    } catch (error) {
      this.#connection.rollback()
      this.#state.forget()
      unsynced?.rolledBack()
      throw error
    } finally {
      this.#lastGroupMs = this.#clock.monotonicMs() - beganMs
    }
    unsynced?.committed(requests, { advanced })
    return result
  }

  #begin(): void {
    const giveUpMs = this.#clock.monotonicMs() + this.#options.lockTimeoutMs
    for (;;) {
      try {
        this.#connection.exec('BEGIN IMMEDIATE')
        return
      } catch (error) {
        if (!isBusy(error) || this.#clock.monotonicMs() > giveUpMs) throw error
        this.#clock.sleep(LOCK_RETRY_MS)
      }
    }
  }

  /** Of the whole group, or of its beginning when it takes too long. */
  #replies(group: readonly WriterRequest[]): readonly WriterReply[] {
    const monotonicMs = (): number => this.#clock.monotonicMs()
    const options = { memory: this.#memory, monotonicMs }
    const endMs = monotonicMs() + MAX_GROUP_MS
    const replies: WriterReply[] = []
    for (const request of group) {
      const result = carryOut(this.#state, request, options)
      replies.push({ id: request.id, result })
      if (monotonicMs() >= endMs) break
    }
    return replies
  }

  #failure(id: number, error: unknown): WriterReply {
    return { id, result: { kind: 'failed', error: portableError(error, this.#options.name) } }
  }
}
