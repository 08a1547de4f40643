import { statSync } from 'node:fs'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { sqliteCode } from '../connection/sqlite-error.ts'
import type { UnsyncedCommits } from './unsynced-commits.ts'
import type { LogNotice } from './writer-messages.ts'

/** How long the write lock is held for readers to end: many times the duration of a page. */
const READERS_MS = 100
/** After a failed try, doubled each time: a reader that stays must not slow down writers. */
const RETRY_MS = 1000
const MAX_RETRY_MS = 8000
/** After another process' checkpoint got in the way: that ends soon, and the try cost nothing. */
const RETRY_ELSEWHERE_MS = 10
/** A log that is held is reported again after this time. */
const TELL_AGAIN_MS = 10_000

/**
 * Keeps a database's log of writes short. SQLite restarts the log only when a commit finds that all of it is copied
 * into the database and has no readers: with readers that always overlap, that never happens. Here the writer holds the
 * lock and waits for that moment: readers that begin then do not need the log.
 */
export class WriteAheadLog {
  readonly #connection: Connection
  readonly #file: string
  readonly #maxBytes: number
  readonly #clock: { monotonicMs(): number }
  readonly #unsynced: UnsyncedCommits
  #retryAtMs: number | undefined
  /** Consecutive tries for which readers did not end. */
  #failures = 0
  #toldMs: number | undefined

  constructor(
    connection: Connection,
    {
      file,
      maxBytes,
      clock,
      unsynced,
    }: {
      readonly file: string
      readonly maxBytes: number
      readonly clock: { monotonicMs(): number }
      readonly unsynced: UnsyncedCommits
    },
  ) {
    this.#connection = connection
    this.#file = `${file}-wal`
    this.#maxBytes = maxBytes
    this.#clock = clock
    this.#unsynced = unsynced
  }

  /** How long to wait before the next try, if one is due at all. */
  get retryInMs(): number | undefined {
    if (this.#retryAtMs === undefined) return undefined
    return Math.max(0, this.#retryAtMs - this.#clock.monotonicMs())
  }

  /** Call it between transactions. Returns what to report. Throws when commits that were answered may be lost. */
  keepShort(): LogNotice | undefined {
    let bytes = this.#bytes()
    if (bytes > this.#maxBytes / 2 && (this.retryInMs ?? 0) === 0) {
      this.#shorten()
      bytes = this.#bytes()
    }
    const isShort = bytes <= this.#maxBytes / 2
    // Another process may have done it.
    if (isShort) this.#retryAtMs = undefined
    if (isShort) this.#failures = 0
    if (isShort && this.#toldMs !== undefined) {
      this.#toldMs = undefined
      return { kind: 'logFreed', bytes }
    }
    if (bytes <= this.#maxBytes || this.#failures === 0) return undefined
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - (this.#toldMs ?? -Infinity) < TELL_AGAIN_MS) return undefined
    this.#toldMs = nowMs
    return { kind: 'logHeld', bytes }
  }

  #shorten(): void {
    const result = this.#checkpoint()
    if (result === 'held') this.#failures++
    const backOffMs = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** (this.#failures - 1))
    const pauseMs = result === 'held' ? backOffMs : RETRY_ELSEWHERE_MS
    this.#retryAtMs = this.#clock.monotonicMs() + pauseMs
  }

  /** `elsewhere`: another process is doing it now. */
  #checkpoint(): 'done' | 'held' | 'elsewhere' {
    try {
      // Most of it is copied without the write lock.
      if (this.#run('PASSIVE') === 'elsewhere') return 'elsewhere'
      this.#connection.exec(`PRAGMA busy_timeout = ${READERS_MS}`)
      return this.#run('TRUNCATE')
    } catch (error) {
      // Housekeeping: if the disk has a problem, the next commit reports it.
      if (sqliteCode(error) === undefined) throw error
      this.#unsynced.assertNotLost(error)
      return 'held'
    } finally {
      this.#connection.exec('PRAGMA busy_timeout = 0')
    }
  }

  #run(mode: 'PASSIVE' | 'TRUNCATE'): 'done' | 'held' | 'elsewhere' {
    const row = this.#connection.get(`PRAGMA wal_checkpoint(${mode})`) ?? []
    if (numberColumn(row, 0) === 0) return 'done'
    // The length of the log is unknown when a checkpoint did not begin.
    return numberColumn(row, 1) < 0 ? 'elsewhere' : 'held'
  }

  #bytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
  }
}
