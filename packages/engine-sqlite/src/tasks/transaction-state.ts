import { rangeOfEpk } from '@tidemark/store/engine'
import { readCatalog, type CatalogRows, type CollectionRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { readHead, storeClock } from '../connection/head.ts'
import { Fences } from '../writer/fences.ts'
import { OpenSegments } from '../writer/open-segments.ts'
import { rollSegment } from '../writer/range-writes.ts'

/**
 * The writer's cached state of the database during a transaction. It is kept for the next one as long as no other
 * connection has committed.
 */
export class TransactionState {
  readonly connection: Connection
  readonly segments: OpenSegments
  readonly fences: Fences
  readonly #segmentSlots: number
  #catalog: CatalogRows | undefined
  #dataVersion = -1
  /** Highest store time that was assigned, epoch ms; the value in the file; the value to write. */
  #clockMs = 0
  #storedClockMs = 0
  #wantedClockMs = 0

  constructor(connection: Connection, segmentSlots: number) {
    this.connection = connection
    this.#segmentSlots = segmentSlots
    this.segments = new OpenSegments(connection)
    this.fences = new Fences(connection)
  }

  get catalog(): CatalogRows {
    return (this.#catalog ??= readCatalog(this.connection))
  }

  /**
   * Reads again what another process may have changed: counters and fences, and the catalog by its version. Returns
   * whether another process has committed since the last call.
   */
  refresh(): boolean {
    const dataVersion = numberColumn(this.connection.get('PRAGMA data_version') ?? [], 0)
    const hadOthers = dataVersion !== this.#dataVersion && this.#dataVersion !== -1
    if (dataVersion !== this.#dataVersion) {
      this.#dataVersion = dataVersion
      this.segments.forget()
      this.fences.forget()
    }
    const { catalogVersion, clockMs } = readHead(this.connection)
    if (catalogVersion !== this.#catalog?.version) this.#catalog = readCatalog(this.connection)
    this.#storedClockMs = clockMs
    this.#clockMs = Math.max(this.#clockMs, clockMs)
    return hadOthers
  }

  /** After a rollback, nothing that was read in the transaction is reliable. */
  forget(): void {
    this.segments.forget()
    this.fences.forget()
    this.#catalog = undefined
    this.#dataVersion = -1
    this.#wantedClockMs = 0
  }

  /** Call when this transaction may have changed the catalog. */
  reloadCatalog(): CatalogRows {
    if (readHead(this.connection).catalogVersion !== this.#catalog?.version) {
      this.segments.forgetUnchanged()
      this.#catalog = readCatalog(this.connection)
    }
    return this.catalog
  }

  /** The store's clock: it never goes back, not even below the time of another process' commit. */
  timeMs(nowMs: number): number {
    this.#clockMs = Math.max(this.#clockMs, Math.floor(nowMs))
    return this.#clockMs
  }

  /** Something was written at this time: other processes must not fall behind it. */
  wroteAt(timeMs: number): void {
    this.#wantedClockMs = Math.max(this.#wantedClockMs, timeMs)
  }

  /** Gives the range of a key a new segment when its own is full. Returns the collection then. */
  roomFor(collection: number, epk: string): CollectionRow | undefined {
    const present = this.catalog.collections.get(collection)
    if (present === undefined) return undefined
    const range = rangeOfEpk(present.ranges, epk)
    const { lsn, base } = this.segments.get(range.segment)
    if (lsn - base < this.#segmentSlots) return present
    // The new segment begins at the counter, which so far is only in memory.
    this.segments.store()
    rollSegment(this.connection, { collection, range })
    return this.reloadCatalog().collections.get(collection)
  }

  /** The last step before a transaction is committed. */
  store(): void {
    this.segments.store()
    if (this.#wantedClockMs <= this.#storedClockMs) return
    storeClock(this.connection, this.#wantedClockMs)
    this.#storedClockMs = this.#wantedClockMs
  }
}
