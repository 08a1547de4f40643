import { statSync } from 'node:fs'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { sqliteCode } from '../connection/sqlite-error.ts'
import type { LogNotice } from '../writer/writer-messages.ts'

/** How long the write lock is held for readers to end: many times what a page takes. */
const READERS_MS = 100
/** Between two tries that failed, so that a reader that stays costs writers a tenth of their time at most. */
const RETRY_MS = 1000
/** A log that is held is told of again. */
const TELL_AGAIN_MS = 10_000

/**
 * Keeps a database's log of writes short. SQLite begins the log anew only when a commit finds all of it copied into the
 * database and nobody reading it: with readers that always overlap, never. Here the writer waits for that moment with
 * the lock in its hand: who begins to read then needs no log.
 */
export class WriteAheadLog {
  readonly #connection: Connection
  readonly #file: string
  readonly #maxBytes: number
  readonly #clock: { monotonicMs(): number }
  #retryAtMs: number | undefined
  #toldMs: number | undefined

  constructor(
    connection: Connection,
    {
      file,
      maxBytes,
      clock,
    }: {
      readonly file: string
      readonly maxBytes: number
      readonly clock: { monotonicMs(): number }
    },
  ) {
    this.#connection = connection
    this.#file = `${file}-wal`
    this.#maxBytes = maxBytes
    this.#clock = clock
  }

  /** How long to wait before the next try, if one is due at all. */
  get retryInMs(): number | undefined {
    if (this.#retryAtMs === undefined) return undefined
    return Math.max(0, this.#retryAtMs - this.#clock.monotonicMs())
  }

  /** Call between transactions. Returns what has to be told. */
  keepShort(): LogNotice | undefined {
    let bytes = this.#bytes()
    if (bytes > this.#maxBytes / 2 && (this.retryInMs ?? 0) === 0) {
      this.#shorten()
      bytes = this.#bytes()
    }
    const isShort = bytes <= this.#maxBytes / 2
    // Another process may have done it.
    if (isShort) this.#retryAtMs = undefined
    if (isShort && this.#toldMs !== undefined) {
      this.#toldMs = undefined
      return { kind: 'logFreed', bytes }
    }
    if (bytes <= this.#maxBytes || this.#retryAtMs === undefined) return undefined
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - (this.#toldMs ?? -Infinity) < TELL_AGAIN_MS) return undefined
    this.#toldMs = nowMs
    return { kind: 'logHeld', bytes }
  }

  #shorten(): void {
    let isDone = false
    try {
      this.#connection.exec(`PRAGMA busy_timeout = ${READERS_MS}`)
      isDone = numberColumn(this.#connection.get('PRAGMA wal_checkpoint(TRUNCATE)') ?? [], 0) === 0
    } catch (error) {
      // Housekeeping: what is the matter with the disk, the next commit says.
      if (sqliteCode(error) === undefined) throw error
    } finally {
      this.#connection.exec('PRAGMA busy_timeout = 0')
    }
    this.#retryAtMs = isDone ? undefined : this.#clock.monotonicMs() + RETRY_MS
  }

  #bytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
  }
}
