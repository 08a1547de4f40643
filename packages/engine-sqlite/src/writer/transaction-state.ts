import {
  rangeOfEpk,
  type CommitBatch,
  type CommitPlace,
  type CommitView,
  type ExpiringRow,
  type FenceRecord,
  type PresentDocument,
  type UniqueClaim,
} from '@tidemark/store/engine'
import {
  readCatalog,
  type CatalogRows,
  type CollectionRow,
  type RangeRow,
} from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { readHead, storeClock } from '../connection/head.ts'
import { MessageRows } from '../messages/message-rows.ts'
import { makeMessageTables } from '../messages/message-tables.ts'
import { Fences } from './fences.ts'
import { OpenSegments, type OpenSegment } from './open-segments.ts'
import { rollSegment } from './range-writes.ts'
import { entryHolder } from './unique-entry-rows.ts'

const FIND = `SELECT seq, lsn, ts, ttl FROM doc
  WHERE coll = ? AND epk = ? AND pk = ? AND id = ? AND kind = 0`

/** A live row. */
export interface PresentRow extends PresentDocument {
  readonly seq: number
}

export interface SegmentPlace extends CommitPlace {
  readonly collection: CollectionRow
  readonly range: RangeRow
  readonly counter: OpenSegment
}

/**
 * The writer's cached state of the database during a transaction. It is kept for the next one as long as no other
 * connection has committed. Commits are planned on it.
 */
export class TransactionState implements CommitView<SegmentPlace, PresentRow> {
  readonly connection: Connection
  readonly segments: OpenSegments
  readonly fences: Fences
  readonly #segmentSlots: number
  #catalog: CatalogRows | undefined
  #dataVersion = -1
  #messages: MessageRows | undefined
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
    this.#messages = undefined
    this.#dataVersion = -1
    this.#wantedClockMs = 0
  }

  /** The tables of messages, which it makes if there are none. */
  messages(): MessageRows {
    if (this.#messages === undefined) {
      makeMessageTables(this.connection)
      this.#messages = new MessageRows(this.connection)
    }
    return this.#messages
  }

  /** Call when a part of the transaction was rolled back that wrote messages. */
  forgetMessages(): void {
    this.#messages = undefined
  }

  /** Call when this transaction may have changed the catalog. */
  reloadCatalog(): CatalogRows {
    if (readHead(this.connection).catalogVersion !== this.#catalog?.version) {
      this.segments.forgetUnchanged()
      this.#catalog = readCatalog(this.connection)
    }
    return this.catalog
  }

  /** The store's clock, epoch ms, as of the request that is carried out. */
  get timeMs(): number {
    return this.#clockMs
  }

  /** The clock never goes back, not even below the time of another process' commit. */
  advanceTo(nowMs: number): void {
    this.#clockMs = Math.max(this.#clockMs, Math.floor(nowMs))
  }

  /** Something was written now: other processes must not fall behind this time. */
  wroteNow(): void {
    this.#wantedClockMs = this.#clockMs
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

  place({ collection: number, epk }: CommitBatch): SegmentPlace | undefined {
    const collection = this.catalog.collections.get(number)
    if (collection === undefined) return undefined
    const range = rangeOfEpk(collection.ranges, epk)
    return { collection, range, counter: this.segments.get(range.segment) }
  }

  document({ collection, epk, partitionKey }: CommitBatch, id: string): PresentRow | undefined {
    const row = this.connection.get(FIND, collection, epk, partitionKey, id)
    if (row === undefined) return undefined
    const seq = numberColumn(row, 0)
    const lsn = numberColumn(row, 1)
    return { seq, lsn, ts: numberColumn(row, 2), ttl: numberColumn(row, 3) }
  }

  fencesOf(job: string): readonly FenceRecord[] {
    return this.fences.of(job)
  }

  holder(claim: UniqueClaim): (ExpiringRow & { readonly id: string }) | undefined {
    return entryHolder(this.connection, claim)
  }

  /** The last step before a transaction is committed. True if a counter advanced. */
  store(): boolean {
    const advanced = this.segments.store()
    if (this.#wantedClockMs > this.#storedClockMs) {
      storeClock(this.connection, this.#wantedClockMs)
      this.#storedClockMs = this.#wantedClockMs
    }
    return advanced
  }
}
