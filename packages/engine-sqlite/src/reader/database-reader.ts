import {
  RangeGoneError,
  ResourceNotFoundError,
  type CodedError,
  type FeedRange,
} from '@tidemark/contracts'
import {
  rangeHolding,
  type CollectionRecord,
  type DocumentKey,
  type EngineFeedPage,
  type FeedPageQuery,
  type FeedStart,
  type RangeCounter,
  type ScanPage,
  type ScanQuery,
  type StoredRow,
} from '@tidemark/store'
import {
  READ_CATALOG_VERSION,
  readCatalog,
  type CatalogRows,
  type CollectionRow,
  type RangeRow,
} from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import { withStoreErrors } from '../connection/sqlite-error.ts'
import { readFeedPage, startLsn } from './feed-reader.ts'
import { scanDocuments } from './document-scan.ts'

const READ_DOCUMENT = `SELECT lsn, ts, ttl, body FROM doc
  WHERE coll = ?1 AND epk = ?2 AND pk = ?3 AND id = ?4 AND kind = 0
  AND EXISTS (SELECT 1 FROM collection WHERE number = ?1)`
const READ_COUNTER = 'SELECT lsn, epoch FROM segment WHERE id = ?'

/** How long SQLite itself waits for a lock: readers only ever meet one while a log is recovered. */
const READ_TIMEOUT_MS = 2000

/**
 * The connection of this process that reads a database, on the caller's thread: a scan never waits for
 * a sync, nor a sync for a scan. No transaction outlives a call, so that the log can be reused.
 */
export class DatabaseReader {
  readonly #file: string
  readonly #databaseId: string
  readonly #connection: Connection
  #catalog: CatalogRows | undefined

  constructor(file: string, databaseId: string) {
    this.#file = file
    this.#databaseId = databaseId
    this.#connection = withStoreErrors(
      file,
      () => new Connection(file, { timeoutMs: READ_TIMEOUT_MS, mode: 'existing' }),
    )
    this.#connection.exec('PRAGMA query_only = 1')
  }

  close(): void {
    this.#connection.close()
  }

  collections(): readonly CollectionRecord[] {
    return this.#snapshot((catalog) =>
      [...catalog.collections.values()].map(({ record }) => record),
    )
  }

  ranges(collection: CollectionRecord): readonly RangeRow[] {
    return this.#inCollection(collection, ({ ranges }) => ranges)
  }

  document(key: DocumentKey): StoredRow | undefined {
    const row = withStoreErrors(this.#file, () =>
      this.#connection.get(READ_DOCUMENT, key.collection.number, key.epk, key.partitionKey, key.id),
    )
    if (row === undefined) {
      this.ranges(key.collection)
      return undefined
    }
    return {
      lsn: numberColumn(row, 0),
      ts: numberColumn(row, 1),
      ttl: numberColumn(row, 2),
      body: textColumn(row, 3),
    }
  }

  scan(query: ScanQuery): ScanPage {
    return this.#inCollection(query.collection, () => scanDocuments(this.#connection, query))
  }

  count(collection: CollectionRecord): number {
    return this.#inCollection(collection, () =>
      numberColumn(
        this.#connection.get(
          'SELECT count(*) FROM doc WHERE coll = ? AND kind = 0',
          collection.number,
        ) ?? [],
        0,
      ),
    )
  }

  feedPage(query: FeedPageQuery): EngineFeedPage {
    return this.#inRange(query.collection, query.range, (range) =>
      readFeedPage(this.#connection, { query, range, counter: this.#counter(range) }),
    )
  }

  start(collection: CollectionRecord, wanted: FeedRange, start: FeedStart): RangeCounter {
    return this.#inRange(collection, wanted, (range) => {
      const counter = this.#counter(range)
      return { ...counter, lsn: startLsn(this.#connection, { range, start, counter }) }
    })
  }

  /** Highest commit time that was ever given out here, epoch ms. */
  highestCommitMs(): number {
    return this.#snapshot(() =>
      numberColumn(this.#connection.get('SELECT coalesce(max(clock), 0) FROM segment') ?? [], 0),
    )
  }

  /**
   * The newest LSN of each of many ranges, in one snapshot; for a range that is gone, the error that
   * says so.
   */
  newestLsns(
    asked: readonly { readonly collection: CollectionRecord; readonly range: FeedRange }[],
  ): readonly (number | CodedError)[] {
    return this.#snapshot((catalog) =>
      asked.map(({ collection, range }) => {
        const found = catalog.collections.get(collection.number)
        if (found === undefined) return new ResourceNotFoundError('collection', collection.id)
        try {
          return this.#counter(rangeHolding(found.ranges, range)).lsn
        } catch (error) {
          if (error instanceof RangeGoneError) return error
          throw error
        }
      }),
    )
  }

  /** The newest LSN of the pkrange that holds `wanted`, and which one that is. */
  counter(
    collection: CollectionRecord,
    wanted: FeedRange,
  ): RangeCounter & { readonly rangeNumber: number } {
    return this.#inRange(collection, wanted, (range) => ({
      ...this.#counter(range),
      rangeNumber: range.number,
    }))
  }

  /** Changes when another connection committed. */
  dataVersion(): number {
    return withStoreErrors(this.#file, () =>
      numberColumn(this.#connection.get('PRAGMA data_version') ?? [], 0),
    )
  }

  /** Runs `act` in one snapshot, with the connection itself. */
  inspect<Result>(act: (connection: Connection, catalog: CatalogRows) => Result): Result {
    return this.#snapshot((catalog) => act(this.#connection, catalog))
  }

  #counter({ segment }: RangeRow): RangeCounter {
    const row = this.#connection.get(READ_COUNTER, segment) ?? []
    return { lsn: numberColumn(row, 0), epoch: numberColumn(row, 1) }
  }

  #inRange<Result>(
    collection: CollectionRecord,
    wanted: FeedRange,
    act: (range: RangeRow) => Result,
  ): Result {
    return this.#inCollection(collection, ({ ranges }) => act(rangeHolding(ranges, wanted)))
  }

  #inCollection<Result>(
    record: CollectionRecord,
    act: (collection: CollectionRow) => Result,
  ): Result {
    return this.#snapshot((catalog) => {
      const collection = catalog.collections.get(record.number)
      if (collection === undefined) throw new ResourceNotFoundError('collection', record.id)
      return act(collection)
    })
  }

  /** One read transaction; the catalog is read again when its version rose. */
  #snapshot<Result>(act: (catalog: CatalogRows) => Result): Result {
    return withStoreErrors(this.#file, () =>
      this.#connection.transaction('BEGIN', () => {
        const version = numberColumn(this.#connection.get(READ_CATALOG_VERSION) ?? [], 0)
        if (version !== this.#catalog?.version) this.#catalog = readCatalog(this.#connection)
        if (this.#catalog.dropped) throw new ResourceNotFoundError('database', this.#databaseId)
        return act(this.#catalog)
      }),
    )
  }
}
