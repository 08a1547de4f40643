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
 * What this process knows of collections: their ranges and segments. It may be out of date at any moment;
 * whoever uses it compares the version in the same snapshot as what is read.
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

  /** As last read. Rejects with ERR_NOT_FOUND when the collection is gone. */
  async get(record: CollectionName): Promise<CollectionRow> {
    return this.#rows.get(record.number) ?? this.refresh(record)
  }

  /** The version in hand; undefined when there is none. */
  known(number: number): CollectionRow | undefined {
    return this.#rows.get(number)
  }

  /** Reads it again, as it is now or later. Rejects with ERR_NOT_FOUND. */
  async refresh(record: CollectionName): Promise<CollectionRow> {
    const under = this.#reading.get(record.number)
    if (under === undefined) return this.#begin(record)
    // The one that has begun may miss what the caller knows of: a split of his own, for one.
    const begin = (): Promise<CollectionRow> =>
      this.#reading.get(record.number)?.row ?? this.#begin(record)
    under.next ??= under.row.then(begin, begin)
    return under.next
  }

  /**
   * Runs `act` with the pkrange that holds `wanted`, as far as this process knows. `act` answers undefined
   * when its own snapshot has another version: then the collection is read again, and so until both agree.
   * Rejects with ERR_NOT_FOUND, and with ERR_RANGE_GONE when a collection just read has no such range.
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

  /** Reads it within a transaction; what is kept is not touched. Rejects with ERR_NOT_FOUND. */
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

/** A read that is on its way. */
interface Reading {
  readonly row: Promise<CollectionRow>
  /** The one after it, of all who asked while it was. */
  next: Promise<CollectionRow> | undefined
}

/** What a collection is found by. */
export type CollectionName = Pick<CollectionRecord, 'number' | 'id'>

/** A pkrange and its collection as this process knows them; `isFresh`: read for this very call. */
export interface KnownRange {
  readonly range: RangeRow
  readonly collection: CollectionRow
  readonly isFresh: boolean
}

const READ_ONE = `${READ_COLLECTION} WHERE c.number = $1`
