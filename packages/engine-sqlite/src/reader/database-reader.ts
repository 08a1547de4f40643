import {
  FULL_RANGE,
  rangeContains,
  RangeGoneError,
  ResourceNotFoundError,
  type CodedError,
  type FeedRange,
  type GroupPosition,
  lsn as checkedLsn,
} from '@tidemark/contracts'
import { type DocumentVersion } from '@tidemark/contracts/internal'
import {
  expiredSecond,
  horizonAt,
  horizonsOf,
  parsePositions,
  rangeHolding,
  type CollectionRecord,
  type DocumentKey,
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedCountQuery,
  type FeedPageQuery,
  type MaintenanceView,
  type PlaceCounter,
  type RangeCounter,
  type RangeRecord,
  type ScanPage,
  type ScanQuery,
  type StartQuery,
} from '@tidemark/store/engine'
import {
  readCatalog,
  type CatalogRows,
  type CollectionRow,
  type RangeRow,
} from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { readHead } from '../connection/head.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'
import { policyOf } from '../connection/live-rows.ts'
import { withStoreErrors } from '../connection/sqlite-error.ts'
import { hasMessageTables } from '../messages/message-tables.ts'
import { checkDatabase } from './check-database.ts'
import { countFeed, type CountedPiece } from './count-feed.ts'
import { scanDocuments } from './document-scan.ts'
import { walkExpiry, type ExpiryWalk } from './expiry-view.ts'
import {
  assertKeepsVersions,
  readFeedPage,
  readVersionPage,
  type FeedSnapshot,
} from './feed-pages.ts'
import { MaintenanceViews } from './maintenance-view.ts'
import type { PartitionRead } from './partition-read.ts'
import { readRangeHead } from './range-head.ts'
import type { WalkedRange } from './range-size.ts'
import { startLsn, type StartSearch } from './start-lsn.ts'
import { unexpired } from './unexpired.ts'

// One statement, and so one snapshot: the document, and the version that shows whether the cached catalog is still
// valid.
const READ_DOCUMENT = `SELECT catalog, clock, lsn, ts, ttl, rid, made, body FROM head LEFT JOIN doc ON
  coll = ? AND epk = ? AND pk = ? AND id = ? AND kind = 0`
const READ_COUNTER = 'SELECT lsn FROM segment WHERE id = ?'

/** One snapshot of a database. */
interface Snapshot {
  readonly catalog: CatalogRows
  /** The store's clock, epoch ms. */
  readonly nowMs: number
}

/**
 * Reads a database, on the caller's thread. Scans and syncs never wait for each other. No transaction outlives a call,
 * so the log can be reused, and a writer can use the same connection.
 */
export class DatabaseReader {
  readonly #connection: Connection
  readonly #name: string
  readonly #databaseId: string
  readonly #nowMs: (atLeastMs: number) => number
  readonly #maintenanceViews = new MaintenanceViews()
  #catalog: CatalogRows | undefined
  #hasMessages = false
  readonly #isFollowed: boolean
  /** Counters of segments, all of them present while `#countersVersion` is the database's. */
  readonly #counters = new Map<number, number>()
  #countersVersion = -1

  constructor(
    connection: Connection,
    options: {
      /** The database, as messages name it. */
      readonly name: string
      readonly databaseId: string
      /** The store's clock in this process, raised to the value that it gets. */
      readonly nowMs: (atLeastMs: number) => number
      /** Whether all commits come from other connections, so that `dataVersion` tells of each. @default false */
      readonly isFollowed?: boolean
    },
  ) {
    this.#isFollowed = options.isFollowed ?? false
    this.#connection = connection
    this.#name = options.name
    this.#databaseId = options.databaseId
    this.#nowMs = options.nowMs
  }

  close(): void {
    this.#connection.close()
  }

  collections(): readonly CollectionRecord[] {
    return this.#snapshot(({ catalog }) =>
      [...catalog.collections.values()].map(({ record }) => record),
    )
  }

  ranges(collection: CollectionRecord): readonly RangeRecord[] {
    return this.#inCollection(collection, ({ ranges }) =>
      ranges.map(({ number, minInclusive, maxExclusive, parents, segment, ts }) => {
        return { number, minInclusive, maxExclusive, parents, segment, ts }
      }),
    )
  }

  document(key: DocumentKey): DocumentVersion | undefined {
    const { collection, epk, partitionKey, id } = key
    const row = withStoreErrors(this.#name, () =>
      this.#connection.get(READ_DOCUMENT, collection.number, epk, partitionKey, id),
    )
    const known = this.#catalog
    const holder = known?.collections.get(collection.number)
    if (row === undefined || known === undefined || holder === undefined || known.dropped) {
      return this.#documentBySnapshot(key)
    }
    if (numberColumn(row, 0) !== known.version) return this.#documentBySnapshot(key)
    return liveDocument(row, holder, this.#nowMs(numberColumn(row, 1)))
  }

  scan(query: ScanQuery): ScanPage {
    return this.#inCollection(query.collection, (collection, { nowMs }) =>
      scanDocuments(
        {
          connection: this.#connection,
          condition: unexpired(this.#connection, collection, seconds(nowMs)),
        },
        query,
      ),
    )
  }

  /** One turn of reading a partition key value; see `PartitionRead`. */
  partition(query: ScanQuery, read: PartitionRead): ScanPage | undefined {
    return this.#inFeed(query, ({ connection, collection, range, head, nowSecond }) => {
      const condition = unexpired(connection, collection, nowSecond)
      const { segment, segments } = range
      const newestSeq = segment * SEGMENT_SLOTS + head.lsn - (segments.at(-1)?.base ?? 0)
      return read.turn({ connection, condition, segment, newestSeq })
    })
  }

  feedPage(query: FeedPageQuery): EngineFeedPage {
    return this.#inFeed(query, (snapshot) => readFeedPage(snapshot, query))
  }

  versionPage(query: FeedPageQuery): EngineVersionPage {
    return this.#inFeed(query, (snapshot) => readVersionPage(snapshot, query))
  }

  countFeed(query: FeedCountQuery): CountedPiece {
    return this.#inFeed(query, (snapshot) => countFeed(snapshot, query))
  }

  /** Undefined when the search must continue in another snapshot; see `startLsn`. */
  start(
    { collection, range: wanted, start, mode }: StartQuery,
    progress: StartSearch,
  ): RangeCounter | undefined {
    return this.#inFeed({ collection, range: wanted }, (snapshot) => {
      const { range, head, connection } = snapshot
      if (mode === 'allVersions') assertKeepsVersions(snapshot.collection)
      const all = mode === 'allVersions' ? head.logHorizons : head.horizons
      const horizons = horizonsOf(all, wanted)
      const rows =
        mode === 'allVersions'
          ? ({ table: 'log', column: 'at' } as const)
          : ({ table: 'doc', column: 'ts' } as const)
      const newestLsn = head.lsn
      const lsn = startLsn(connection, { range, wanted, start, newestLsn, rows, progress })
      if (lsn === undefined) return undefined
      return { lsn, epoch: head.epoch, horizon: horizonAt(horizons, wanted), horizons }
    })
  }

  firstOwnLsn(collection: CollectionRecord, wanted: FeedRange): number {
    return this.#inFeed({ collection, range: wanted }, ({ range }) =>
      range.segments.length === 1 ? 0 : (range.segments.at(-1)?.base ?? 0),
    )
  }

  positions(collection: CollectionRecord, group: string): readonly GroupPosition[] {
    return this.#inCollection(collection, ({ record }) => {
      const sql = 'SELECT list FROM position WHERE coll = ? AND grp = ?'
      const row = this.#connection.get(sql, record.number, group)
      const list = row === undefined ? [] : parsePositions(textColumn(row, 0))
      return list.map(({ range, lsn }) => ({ group, range, lsn: checkedLsn(lsn) }))
    })
  }

  maintenance(): MaintenanceView {
    return this.#snapshot(({ catalog, nowMs }) =>
      this.#maintenanceViews.read(this.#connection, catalog, nowMs),
    )
  }

  /** One step of the walk that finds what expires when; see `walkExpiry`. */
  expiry(record: CollectionRecord, walk: ExpiryWalk): ExpiryWalk {
    return this.#inCollection(record, (collection, { nowMs }) =>
      walkExpiry(this.#connection, collection, { walk, nowMs }),
    )
  }

  /** Runs `act` on one present range, or on all keys. @throws ERR_RANGE_GONE */
  walk<Result>(
    record: CollectionRecord,
    number: number | 'all',
    act: (connection: Connection, range: WalkedRange) => Result,
  ): Result {
    return this.#inCollection(record, (collection, { nowMs }) => {
      const range =
        number === 'all' ? FULL_RANGE : collection.ranges.find((each) => each.number === number)
      if (range === undefined) throw rangeGone(collection.ranges, Number(number))
      const condition = unexpired(this.#connection, collection, seconds(nowMs))
      return act(this.#connection, { number: record.number, range, condition })
    })
  }

  /** Highest store time that was ever assigned here, epoch ms. */
  highestCommitMs(): number {
    return withStoreErrors(this.#name, () => readHead(this.#connection).clockMs)
  }

  /**
   * The newest LSN of each of many ranges and the pkrange that holds it, in one snapshot. For a range that is gone, the
   * corresponding error.
   */
  newestLsns(
    asked: readonly { readonly collection: CollectionRecord; readonly range: FeedRange }[],
  ): readonly (PlaceCounter | CodedError)[] {
    return this.#snapshot(({ catalog }) =>
      asked.map(({ collection, range }) => {
        const found = catalog.collections.get(collection.number)
        if (found === undefined) return new ResourceNotFoundError('collection', collection.id)
        try {
          return this.#counter(rangeHolding(found.ranges, range))
        } catch (error) {
          if (error instanceof RangeGoneError) return error
          throw error
        }
      }),
    )
  }

  /** The newest LSN of the pkrange that holds `wanted`, and which pkrange that is. */
  counter(collection: CollectionRecord, wanted: FeedRange): PlaceCounter {
    const known = this.#knownCounter(collection, wanted)
    if (known !== undefined) return known
    return this.#inCollection(collection, ({ ranges }) =>
      this.#counter(rangeHolding(ranges, wanted)),
    )
  }

  /** Runs `act` on one snapshot, in which the tables of messages are. Undefined while there are none. */
  messages<Result>(act: (connection: Connection) => Result): Result | undefined {
    return this.#snapshot(() => {
      this.#hasMessages ||= hasMessageTables(this.#connection)
      return this.#hasMessages ? act(this.#connection) : undefined
    })
  }

  /** Changes when another connection committed. */
  dataVersion(): number {
    const version = withStoreErrors(this.#name, () =>
      numberColumn(this.#connection.get('PRAGMA data_version') ?? [], 0),
    )
    if (version !== this.#countersVersion) this.#counters.clear()
    this.#countersVersion = version
    return version
  }

  /** Contradictions. Undefined for a database of more than `maxBytes`. */
  check(maxBytes: number): readonly string[] | undefined {
    return this.#snapshot(({ catalog }) => {
      const [pages, pageBytes] = ['page_count', 'page_size'].map((name) =>
        numberColumn(this.#connection.get(`PRAGMA ${name}`) ?? [], 0),
      )
      if ((pages ?? 0) * (pageBytes ?? 0) > maxBytes) return undefined
      return checkDatabase(this.#connection, catalog)
    })
  }

  /** From what was read before, if nothing was committed since: a reader waits right after its page. */
  #knownCounter({ number }: CollectionRecord, wanted: FeedRange): PlaceCounter | undefined {
    if (this.#counters.size === 0) return undefined
    this.dataVersion()
    const ranges = this.#catalog?.collections.get(number)?.ranges ?? []
    const holder = ranges.find((range) => rangeContains(range, wanted))
    const lsn = holder && this.#counters.get(holder.segment)
    return lsn === undefined ? undefined : { lsn, rangeNumber: holder!.number }
  }

  #counter(range: RangeRow): PlaceCounter {
    const row = this.#connection.get(READ_COUNTER, range.segment) ?? []
    const lsn = numberColumn(row, 0)
    this.#noteCounter(range, lsn)
    return { lsn, rangeNumber: range.number }
  }

  /** Of a snapshot, which cannot be older than the last `dataVersion`. */
  #noteCounter({ segment }: RangeRow, lsn: number): void {
    if (this.#isFollowed) this.#counters.set(segment, lsn)
  }

  #documentBySnapshot({
    collection,
    epk,
    partitionKey,
    id,
  }: DocumentKey): DocumentVersion | undefined {
    return this.#inCollection(collection, (holder, { nowMs }) => {
      const row = this.#connection.get(READ_DOCUMENT, collection.number, epk, partitionKey, id)
      return row && liveDocument(row, holder, nowMs)
    })
  }

  #inFeed<Result>(
    query: { readonly collection: CollectionRecord; readonly range: FeedRange },
    act: (snapshot: FeedSnapshot) => Result,
  ): Result {
    return this.#inCollection(query.collection, (collection, { nowMs }) => {
      const range = rangeHolding(collection.ranges, query.range)
      const head = readRangeHead(this.#connection, range)
      this.#noteCounter(range, head.lsn)
      const nowSecond = seconds(nowMs)
      return act({ connection: this.#connection, collection, range, head, nowSecond })
    })
  }

  #inCollection<Result>(
    record: CollectionRecord,
    act: (collection: CollectionRow, snapshot: Snapshot) => Result,
  ): Result {
    return this.#snapshot((snapshot) => {
      const collection = snapshot.catalog.collections.get(record.number)
      if (collection === undefined) throw new ResourceNotFoundError('collection', record.id)
      return act(collection, snapshot)
    })
  }

  /** One read transaction. It reads the catalog again when its version has risen. */
  #snapshot<Result>(act: (snapshot: Snapshot) => Result): Result {
    return withStoreErrors(this.#name, () =>
      this.#connection.transaction('BEGIN', () => {
        const head = readHead(this.#connection)
        if (head.catalogVersion !== this.#catalog?.version) {
          this.#catalog = readCatalog(this.#connection)
        }
        if (this.#catalog.dropped) throw new ResourceNotFoundError('database', this.#databaseId)
        return act({ catalog: this.#catalog, nowMs: this.#nowMs(head.clockMs) })
      }),
    )
  }
}

/** The error for a range that was split or merged. */
export function rangeGone(ranges: readonly RangeRow[], number: number): RangeGoneError {
  const successors = ranges
    .filter(({ parents }) => parents.includes(number))
    .map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
  return new RangeGoneError(String(number), successors)
}

/** Of a row of READ_DOCUMENT. */
function liveDocument(
  row: readonly unknown[],
  collection: CollectionRow,
  nowMs: number,
): DocumentVersion | undefined {
  const [, , lsn, ts, ttl, rid, made, body] = row
  if (typeof body !== 'string' || typeof rid !== 'string') return undefined
  const times = { ts: Number(ts), ttl: Number(ttl) }
  if (expiredSecond(times, policyOf(collection), nowMs) !== 0) return undefined
  return { lsn: Number(lsn), ts: times.ts, rid, ttl: made === null ? null : Number(made), body }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
