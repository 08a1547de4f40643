import { ResourceNotFoundError, rangeContains, type FeedRange } from '@tidemark/contracts'
import { rangeHolding, type CollectionRecord } from '@tidemark/store/engine'
import type { Connections } from '../connection/connections.ts'
import type { Sql } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'
import {
  READ_COLLECTION,
  collectionRow,
  type CollectionRow,
  type RangeRow,
} from './collection-row.ts'

/**
 * This process' cache of collections, with their ranges and segments. It can be out of date at any moment, so its users
 * compare the version in the snapshot that they read.
 */
export class CollectionCache {
  readonly #connections: Pick<Connections, 'read'>
  readonly #statements: Statements
  readonly #rows = new Map<number, CollectionRow>()
  readonly #reading = new Map<number, Reading>()

  constructor(connections: Pick<Connections, 'read'>, statements: Statements) {
    this.#connections = connections
    this.#statements = statements
  }

  /** As of the last read. Rejects with ERR_NOT_FOUND when the collection is gone. */
  async get(record: CollectionName): Promise<CollectionRow> {
    return this.#rows.get(record.number) ?? this.refresh(record)
  }

  /** The cached version; undefined when there is none. */
  known(number: number): CollectionRow | undefined {
    return this.#rows.get(number)
  }

  /** Reads it again, as of now or later. Rejects with ERR_NOT_FOUND. */
  async refresh(record: CollectionName): Promise<CollectionRow> {
    const under = this.#reading.get(record.number)
    if (under === undefined) return this.#begin(record)
    // A read that has begun may miss what the caller has just done, such as a split.
    const begin = (): Promise<CollectionRow> =>
      this.#reading.get(record.number)?.row ?? this.#begin(record)
    under.next ??= under.row.then(begin, begin)
    return under.next
  }

  /**
   * Runs `act` with the pkrange that holds `wanted`, from the cache. `act` returns undefined when its own snapshot has
   * another version. Then this reads the collection again, until both agree. Rejects with ERR_NOT_FOUND, and with
   * ERR_RANGE_GONE when a collection just read has no such range.
   */
  async inRange<Result>(
    record: CollectionName,
    wanted: FeedRange,
    act: (known: KnownRange) => Promise<Result | undefined>,
  ): Promise<Result> {
    let collection = this.#rows.get(record.number)
    let isFresh = collection === undefined
    collection ??= await this.refresh(record)
    for (;;) {
      const range = isFresh
        ? rangeHolding(collection.ranges, wanted)
        : collection.ranges.find((each) => rangeContains(each, wanted))
      const result = range && (await act({ range, collection, isFresh }))
      if (result !== undefined) return result
      collection = await this.refresh(record)
      isFresh = true
    }
  }

  /** Reads it within a transaction, without changing the cache. Rejects with ERR_NOT_FOUND. */
  async readIn(sql: Sql, record: CollectionName): Promise<CollectionRow> {
    const [row] = await sql.rows(this.#statements.of(READ_ONE), [record.number])
    if (row === undefined) throw new ResourceNotFoundError('collection', record.id)
    return collectionRow(row)
  }

  forget(number: number): void {
    this.#rows.delete(number)
  }

  #begin(record: CollectionName): Promise<CollectionRow> {
    const reading: Reading = {
      row: this.#read(record).finally(() => {
        this.#reading.delete(record.number)
      }),
      next: undefined,
    }
    this.#reading.set(record.number, reading)
    return reading.row
  }

  async #read(record: CollectionName): Promise<CollectionRow> {
    const [row] = await this.#connections.read(this.#statements.of(READ_ONE), [record.number])
    if (row === undefined) {
      this.#rows.delete(record.number)
      throw new ResourceNotFoundError('collection', record.id)
    }
    const collection = collectionRow(row)
    this.#rows.set(record.number, collection)
    return collection
  }
}

/** A read in progress. */
interface Reading {
  readonly row: Promise<CollectionRow>
  /** The next read, for all callers that asked during this one. */
  next: Promise<CollectionRow> | undefined
}

/** What identifies a collection. */
export type CollectionName = Pick<CollectionRecord, 'number' | 'id'>

/** A pkrange and its collection from the cache. `isFresh`: read for this very call. */
export interface KnownRange {
  readonly range: RangeRow
  readonly collection: CollectionRow
  readonly isFresh: boolean
}

const READ_ONE = `${READ_COLLECTION} WHERE c.number = $1`
