import type { Connection } from '../connection/connection.ts'
import { hasRelaxedMark, removeRelaxedMark, writeRelaxedMark } from '../connection/relaxed-marks.ts'
import { isIoError } from '../connection/sqlite-error.ts'
import { operationsOf } from './first-group.ts'
import type { WriterRequest, WriterTask } from './writer-messages.ts'

/** Commits are on disk after this time at the latest. */
const SYNC_WITHIN_MS = 200
/** And after this many operations: far fewer than the LSNs that an epoch skips. */
const MAX_OPERATIONS: number = 2 ** 16

/** Of the log, before a synced commit copies them into the database: SQLite's default. */
const CHECKPOINT_PAGES = 1000

/** Wait for another process' lock, to note a failure. */
const NOTE_TIMEOUT_MS = 1000
/** In place of a boot: what was lost is lost in any. */
const LOST = 'lost'

/** A file that is kept open for its syncs. */
export interface SyncedFile {
  sync(): void
  close(): void
}

export interface UnsyncedCommitsOptions {
  /** The log of writes. */
  readonly log: SyncedFile
  readonly durability: 'sync' | 'relaxed'
  readonly processId: string
  readonly bootId: string
  readonly clock: { monotonicMs(): number }
}

/**
 * Commits that are answered when they are visible, before they are on disk (decision 0033). All processes share one log,
 * so whatever syncs it puts all that came before on disk: a synced commit, SQLite's checkpoint, or a sync of the log
 * alone, which needs no lock. Before the first one, the file durably notes which boot of the machine can lose them.
 */
export class UnsyncedCommits {
  readonly #connection: Connection
  readonly #options: UnsyncedCommitsOptions
  #level: 'FULL' | 'NORMAL' | undefined
  #isMarked = false
  /** False when another process may have removed the mark since it was last seen. */
  #isChecked = false
  /** Why commits that were answered may be lost. */
  #lost: Error | undefined
  /** By the present transaction. */
  #isMarking = false
  #operations = 0
  #sinceMs: number | undefined

  constructor(connection: Connection, options: UnsyncedCommitsOptions) {
    this.#connection = connection
    this.#options = options
  }

  /** Whether the file says that this process has had some. */
  get isMarked(): boolean {
    return this.#isMarked
  }

  /** Whether some may not be on disk. */
  get any(): boolean {
    return this.#sinceMs !== undefined
  }

  /** How long until they must be synced, in ms. */
  get dueInMs(): number | undefined {
    if (this.#sinceMs === undefined) return undefined
    if (this.#operations > MAX_OPERATIONS) return 0
    return Math.max(0, this.#sinceMs + SYNC_WITHIN_MS - this.#options.clock.monotonicMs())
  }

  /** Before a transaction. It is synced, unless none of its requests needs that. */
  begin(requests: readonly WriterRequest[]): void {
    this.#isMarking = false
    const need = requests.map(({ task }) => this.#needOf(task))
    const isSynced = !this.#isMarked || !need.includes('none') || need.includes('sync')
    this.#setLevel(isSynced ? 'FULL' : 'NORMAL')
  }

  /** In the transaction, before its requests. */
  began(requests: readonly WriterRequest[], { hadOthers }: { readonly hadOthers: boolean }): void {
    if (hadOthers) this.#isChecked = false
    if (requests.every(({ task }) => this.#needOf(task) !== 'none')) return
    // Another process may have removed it: where a boot has no id, that is computed, and can be a minute off.
    if (this.#isMarked && this.#isChecked) return
    this.#isChecked = true
    if (this.#isMarked && hasRelaxedMark(this.#connection, this.#options)) return
    writeRelaxedMark(this.#connection, this.#options)
    this.#isMarking = true
  }

  /** What the transaction saw is not reliable. */
  rolledBack(): void {
    this.#isChecked = false
  }

  /** After the transaction. `advanced`: it changed a counter, so something was written, and synced if it was to be. */
  committed(
    requests: readonly WriterRequest[],
    { advanced }: { readonly advanced: boolean },
  ): void {
    if (this.#level === 'FULL' && (advanced || this.#isMarking)) {
      this.#allSynced()
    } else {
      for (const { task } of requests) {
        if (this.#needOf(task) !== 'none') continue
        this.#operations += operationsOf(task)
        this.#sinceMs ??= this.#options.clock.monotonicMs()
      }
    }
    // Written too late.
    if (this.#isMarking && this.any) this.#operations = Infinity
    this.#isMarked ||= this.#isMarking
  }

  /**
   * Syncs the log, if there is anything to sync. A failure ends the writer: after it, the system may drop what it could
   * not write, and report success the next time.
   */
  sync(): void {
    if (!this.any) return
    if (this.#lost !== undefined) throw this.#lost
    try {
      this.#options.log.sync()
    } catch (error) {
      this.#lose(error)
    }
    this.#allSynced()
  }

  /**
   * After a transaction or a checkpoint that failed. Throws the error if that may have been a sync: the next one would
   * succeed without what this one could not write.
   */
  assertNotLost(error: unknown): void {
    if (this.any && isIoError(error)) this.#lose(error)
  }

  close(): void {
    this.#options.log.close()
  }

  /** In the last transaction, with nothing left to sync. */
  removeMark(): void {
    removeRelaxedMark(this.#connection, this.#options)
  }

  /** Notes it for the next opening, if possible. That sees it without a sync, or in another boot, which counts anyway. */
  #lose(error: unknown): never {
    this.#lost = error instanceof Error ? error : new Error(String(error))
    try {
      this.#setLevel('NORMAL')
      this.#connection.exec(`PRAGMA busy_timeout = ${NOTE_TIMEOUT_MS}`)
      this.#connection.transaction('BEGIN IMMEDIATE', () =>
        writeRelaxedMark(this.#connection, { ...this.#options, bootId: LOST }),
      )
    } catch {
      // The failure itself is what the caller must know.
    }
    throw this.#lost
  }

  #allSynced(): void {
    this.#operations = 0
    this.#sinceMs = undefined
  }

  /** `later`: by a sync after the transaction. */
  #needOf(task: WriterTask): 'none' | 'sync' | 'later' {
    if (task.kind === 'flush') return 'later'
    if (this.#options.durability === 'relaxed') return 'none'
    if (task.kind !== 'commit' || task.sync !== false) return 'sync'
    return task.fence === undefined && task.sends === undefined ? 'none' : 'sync'
  }

  /**
   * A pragma takes effect when it is prepared, so that it cannot be a prepared statement. SQLite says nothing of a failure
   * in a checkpoint that it runs within a commit. So it runs none where that would be the first sync of the log.
   */
  #setLevel(level: 'FULL' | 'NORMAL'): void {
    if (level === this.#level) return
    const checkpointPages = level === 'FULL' ? CHECKPOINT_PAGES : 0
    this.#connection.exec(
      `PRAGMA synchronous = ${level}; PRAGMA wal_autocheckpoint = ${checkpointPages}`,
    )
    this.#level = level
  }
}
