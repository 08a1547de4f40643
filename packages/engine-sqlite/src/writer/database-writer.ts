import { rangeOfEpk } from '@tidemark/store'
import {
  raiseCatalogVersion,
  readCatalog,
  READ_CATALOG_VERSION,
  type CatalogRows,
} from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import { isBusy, portableError } from '../connection/sqlite-error.ts'
import {
  insertCollection,
  purgeDropped,
  removeCollection,
  rollSegment,
} from './collection-writes.ts'
import { FileIdentity } from '../folder/file-identity.ts'
import { applyCommit } from './commit-writer.ts'
import { Fences } from './fences.ts'
import { OpenSegments } from './open-segments.ts'
import type {
  WireBatch,
  WriterReply,
  WriterRequest,
  WriterResult,
  WriterSettings,
} from './writer-messages.ts'

/** Blocks the writer's thread: it has nothing else to do while another process writes. */
export interface BlockingClock {
  sleep(ms: number): void
  monotonicMs(): number
  /** Uniform in [0, 1). */
  fraction(): number
}

/** A writer that met another process' commits within this time lets others go first after a group. */
const SHARED_WINDOW_MS = 100
const LOCK_RETRY_MS = 1
const OPEN_TIMEOUT_MS = 5000
const MIN_PAUSE_MS = 0.5

/**
 * The one connection of this process that writes to a database. Takes requests in groups: one
 * transaction and one disk sync for all that wait (engine findings, rule 1).
 */
export class DatabaseWriter {
  readonly #connection: Connection
  readonly #settings: WriterSettings
  readonly #clock: BlockingClock
  readonly #segments: OpenSegments
  readonly #fences: Fences
  readonly #identity: FileIdentity
  #catalog: CatalogRows | undefined
  #dataVersion = -1
  /** Highest commit time given out, epoch ms. */
  #highWaterMs = 0
  #sharedUntilMs = -1

  constructor(settings: WriterSettings, clock: BlockingClock) {
    this.#settings = settings
    this.#clock = clock
    this.#connection = new Connection(settings.file, {
      timeoutMs: OPEN_TIMEOUT_MS,
      mode: 'existing',
    })
    // Touches the file, so that waiting for another process that is just recovering its log is over here.
    this.#connection.get(READ_CATALOG_VERSION)
    // From now on SQLite's own wait is off, which is unfair between processes: ours is 1 ms steps
    // (engine findings, rule 4).
    this.#connection.exec('PRAGMA busy_timeout = 0')
    const synchronous = settings.durability === 'sync' ? 'FULL' : 'NORMAL'
    this.#connection.exec(`PRAGMA synchronous = ${synchronous}`)
    this.#segments = new OpenSegments(this.#connection)
    this.#fences = new Fences(this.#connection)
    this.#identity = new FileIdentity(settings.file)
  }

  /** One reply a request, in order. The replies' commits are durable. */
  runGroup(requests: readonly WriterRequest[]): readonly WriterReply[] {
    try {
      return this.#inTransaction(() => requests.map((request) => this.#reply(request)))
    } catch (error) {
      if (requests.length === 1 || isBusy(error))
        return requests.map(({ id }) => this.#failure(id, error))
      // One of them cannot be carried out; alone, each of the others can.
      return requests.flatMap((request) => this.runGroup([request]))
    }
  }

  /** Deletes some rows of removed collections. False when nothing is left to do. */
  purge(): boolean {
    try {
      return this.#inTransaction(() => purgeDropped(this.#connection))
    } catch {
      // Housekeeping: what is left is done after the next start.
      return false
    }
  }

  /** Lets other writing processes have their turn, if there are any. */
  yieldToOthers(): void {
    if (this.#clock.monotonicMs() > this.#sharedUntilMs) return
    this.#clock.sleep(MIN_PAUSE_MS + this.#clock.fraction())
  }

  close(): void {
    this.#connection.close()
  }

  #inTransaction<Result>(act: () => Result): Result {
    this.#begin()
    try {
      this.#refresh()
      const result = act()
      this.#segments.store()
      this.#identity.assertSame()
      this.#connection.exec('COMMIT')
      return result
    } catch (error) {
      this.#connection.rollback()
      this.#forget()
      throw error
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

  /** Reads again what another process may have changed: counters and fences, and the catalog by its version. */
  #refresh(): void {
    const dataVersion = numberColumn(this.#connection.get('PRAGMA data_version') ?? [], 0)
    if (dataVersion !== this.#dataVersion) {
      if (this.#dataVersion !== -1)
        this.#sharedUntilMs = this.#clock.monotonicMs() + SHARED_WINDOW_MS
      this.#dataVersion = dataVersion
      this.#segments.forget()
      this.#fences.forget()
    }
    const version = numberColumn(this.#connection.get(READ_CATALOG_VERSION) ?? [], 0)
    if (version !== this.#catalog?.version) this.#catalog = readCatalog(this.#connection)
  }

  #forget(): void {
    this.#segments.forget()
    this.#fences.forget()
    this.#catalog = undefined
    this.#dataVersion = -1
  }

  #reply(request: WriterRequest): WriterReply {
    return { id: request.id, result: this.#carryOut(request) }
  }

  #carryOut({ task, nowMs }: WriterRequest): WriterResult {
    const catalog = this.#currentCatalog()
    if (catalog.dropped) return { kind: 'databaseGone' }
    switch (task.kind) {
      case 'commit': {
        this.#rollFullSegments(task.batches)
        const { outcome, touched } = applyCommit(
          {
            connection: this.#connection,
            segments: this.#segments,
            fences: this.#fences,
            catalog: this.#currentCatalog(),
            timeMs: this.#commitTimeMs(task.batches, nowMs),
          },
          task,
        )
        return { kind: 'committed', outcome, touched }
      }
      case 'createCollection': {
        for (const { record } of catalog.collections.values()) {
          if (record.id === task.collectionId) return { kind: 'exists' }
        }
        const record = insertCollection(this.#connection, task, Math.floor(nowMs / 1000))
        this.#catalog = readCatalog(this.#connection)
        return { kind: 'created', record }
      }
      case 'deleteCollection': {
        const found = [...catalog.collections.values()].find(
          ({ record }) => record.id === task.collectionId,
        )
        if (found === undefined) return { kind: 'missing' }
        removeCollection(this.#connection, found.record.number)
        this.#segments.forget()
        this.#catalog = readCatalog(this.#connection)
        return { kind: 'done' }
      }
      case 'drop':
        this.#connection.run(`UPDATE meta SET value = 1 WHERE name = 'dropped'`)
        raiseCatalogVersion(this.#connection)
        this.#catalog = readCatalog(this.#connection)
        return { kind: 'done' }
    }
  }

  /** The store's clock: it never goes back, not even below what another process wrote. */
  #commitTimeMs(batches: readonly WireBatch[], nowMs: number): number {
    let timeMs = Math.max(Math.floor(nowMs), this.#highWaterMs)
    for (const { collection, epk } of batches) {
      const ranges = this.#currentCatalog().collections.get(collection)?.ranges
      if (ranges === undefined) continue
      timeMs = Math.max(timeMs, this.#segments.get(rangeOfEpk(ranges, epk).segment).clockMs)
    }
    this.#highWaterMs = timeMs
    return timeMs
  }

  #rollFullSegments(batches: readonly WireBatch[]): void {
    for (const { collection, epk } of batches) {
      const ranges = this.#currentCatalog().collections.get(collection)?.ranges
      if (ranges === undefined) continue
      const range = rangeOfEpk(ranges, epk)
      const { lsn, base } = this.#segments.get(range.segment)
      if (lsn - base < this.#settings.segmentSlots) continue
      // The new segment begins where the counter stands, which so far only memory knows.
      this.#segments.store()
      rollSegment(this.#connection, { collection, range: range.number, segment: range.segment })
      this.#catalog = readCatalog(this.#connection)
    }
  }

  #currentCatalog(): CatalogRows {
    return (this.#catalog ??= readCatalog(this.#connection))
  }

  #failure(id: number, error: unknown): WriterReply {
    return { id, result: { kind: 'failed', error: portableError(error, this.#settings.file) } }
  }
}
