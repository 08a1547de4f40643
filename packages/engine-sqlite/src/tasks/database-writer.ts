import { Connection } from '../connection/connection.ts'
import { READ_HEAD } from '../connection/head.ts'
import { isBusy, portableError } from '../connection/sqlite-error.ts'
import { FileIdentity } from '../folder/file-identity.ts'
import { carryOut, MaintenanceMemory } from './carry-out.ts'
import { firstGroup } from './first-group.ts'
import { purgeDropped } from '../writer/collection-writes.ts'
import { TransactionState } from '../writer/transaction-state.ts'
import { WriteAheadLog } from './write-ahead-log.ts'
import type { WriterReply, WriterRequest, WriterSettings } from '../writer/writer-messages.ts'

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
const OPEN_TIMEOUT_MS = 5000
const MIN_PAUSE_MS = 0.5
/** A group takes no further request after this time: other processes' commits wait for its end. */
const MAX_GROUP_MS = 50
/** A group that held the lock for this long is followed by a pause in which every waiting process tries once. */
const LONG_GROUP_MS = 10
const LONG_PAUSE_MS: number = 2 * LOCK_RETRY_MS

/**
 * The only connection of this process that writes to a database. Takes requests in groups: one transaction and one disk
 * sync for all that wait (decision 0021, rule 1).
 */
export class DatabaseWriter {
  readonly #connection: Connection
  readonly #settings: WriterSettings
  readonly #clock: BlockingClock
  readonly #state: TransactionState
  readonly #memory = new MaintenanceMemory()
  readonly #identity: FileIdentity
  /** Keep it short between transactions. */
  readonly log: WriteAheadLog
  #sharedUntilMs = -1
  #lastGroupMs = 0

  constructor(settings: WriterSettings, clock: BlockingClock) {
    this.#settings = settings
    this.#clock = clock
    this.#connection = new Connection(settings.file, { timeoutMs: OPEN_TIMEOUT_MS })
    // Touches the file, so that the wait for another process that is recovering its log ends here.
    this.#connection.get(READ_HEAD)
    // From now on, SQLite's own wait is off, because it is unfair between processes. This class waits in 1 ms steps
    // (decision 0021, rule 4).
    this.#connection.exec('PRAGMA busy_timeout = 0')
    const synchronous = settings.durability === 'sync' ? 'FULL' : 'NORMAL'
    this.#connection.exec(`PRAGMA synchronous = ${synchronous}`)
    this.#state = new TransactionState(this.#connection, settings.segmentSlots)
    this.#identity = new FileIdentity(settings.file)
    const { file, maxLogBytes: maxBytes } = settings
    this.log = new WriteAheadLog(this.#connection, { file, maxBytes, clock })
  }

  /**
   * Carries out the first of these requests, as many as fit into one transaction: one reply each, in order. Replies are
   * sent only when their writes are durable. Another process that holds the lock for too long fails all requests that
   * waited for it.
   */
  runGroup(waiting: readonly WriterRequest[]): readonly WriterReply[] {
    const group = firstGroup(waiting, this.#settings.maxGroupOperations)
    try {
      return this.#inTransaction(() => this.#replies(group))
    } catch (error) {
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
        replies.push(...this.#inTransaction(() => this.#replies([request])))
      } catch (error) {
        // Requests that waited as long do not wait for the same lock again.
        const failed = isBusy(error) ? waiting.slice(replies.length) : [request]
        replies.push(...failed.map(({ id }) => this.#failure(id, error)))
        if (isBusy(error)) break
      }
    }
    return replies
  }

  /** Deletes some rows of removed collections. False when nothing is left to do. */
  purge(): boolean {
    try {
      return this.#inTransaction(() => purgeDropped(this.#connection))
    } catch {
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

  close(): void {
    this.#connection.close()
  }

  #inTransaction<Result>(act: () => Result): Result {
    this.#begin()
    const beganMs = this.#clock.monotonicMs()
    try {
      if (this.#state.refresh()) {
        this.#sharedUntilMs = this.#clock.monotonicMs() + SHARED_WINDOW_MS
      }
      const { dropped } = this.#state.catalog
      const result = act()
      this.#state.store()
      // Nothing is written to a deleted database, and its file may be gone.
      if (!dropped) this.#identity.assertSame()
      this.#connection.exec('COMMIT')
      return result
    } catch (error) {
      this.#connection.rollback()
      this.#state.forget()
      throw error
    } finally {
      this.#lastGroupMs = this.#clock.monotonicMs() - beganMs
    }
  }

  #begin(): void {
    const giveUpMs = this.#clock.monotonicMs() + this.#settings.lockTimeoutMs
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
    return { id, result: { kind: 'failed', error: portableError(error, this.#settings.file) } }
  }
}
