import { eventLoopTurn } from '@tidemark/contracts/internal'
import type {
  CollectionRecord,
  ExpiryView,
  FeedCount,
  FeedCountQuery,
  RangeCounter,
  ScanPage,
  ScanQuery,
  StartQuery,
} from '@tidemark/store/engine'
import { countInPieces } from './reader/count-feed.ts'
import type { DatabaseReader } from './reader/database-reader.ts'
import { scanPastExpired } from './reader/document-scan.ts'
import { PartitionRead } from './reader/partition-read.ts'
import { readExpiryView } from './reader/expiry-view.ts'
import { StartSearch } from './reader/start-lsn.ts'
import { countLive, middleOfRange, sizeOfRange, type RangeSteps } from './reader/size-of-range.ts'

type Read = <Result>(act: (reader: DatabaseReader) => Result) => Promise<Result>

/**
 * Reads that do more work than their result shows. They run piece by piece, each with its own snapshot and at most a
 * few thousand rows, and the event loop has a turn after each. So no timer of this process, and no heartbeat of its
 * leases, waits for a large collection.
 */
export class PiecewiseReads {
  readonly #read: Read
  /** Set while this turn has had its piece. */
  #nextTurn: Promise<void> | undefined

  constructor(read: Read) {
    this.#read = read
  }

  /**
   * A page is limited by itself. It continues only if it has found nothing but expired documents, or if it is to be all of a
   * partition key value.
   */
  async scan(query: ScanQuery): Promise<ScanPage> {
    const { partitionKey, signal } = query
    if (partitionKey !== undefined && query.maxItems === Infinity) {
      const read = new PartitionRead({ ...query, partitionKey })
      let page = await this.#read((reader) => reader.partition(query, read))
      while (page === undefined) {
        await eventLoopTurn()
        signal?.throwIfAborted()
        page = await this.#piece((reader) => reader.partition(query, read))
      }
      return page
    }
    return scanPastExpired(query, (part) =>
      part.after === query.after
        ? this.#read((reader) => reader.scan(part))
        : this.#piece((reader) => reader.scan(part)),
    )
  }

  async start(query: StartQuery): Promise<RangeCounter> {
    const search = new StartSearch()
    const look = (reader: DatabaseReader): RangeCounter | undefined => reader.start(query, search)
    let found = query.start.kind === 'time' ? undefined : await this.#read(look)
    while (found === undefined) found = await this.#piece(look)
    return found
  }

  countFeed(query: FeedCountQuery): Promise<FeedCount> {
    return countInPieces(query, (part) => this.#piece((reader) => reader.countFeed(part)))
  }

  expiry(collection: CollectionRecord, withinSeconds: readonly number[]): Promise<ExpiryView> {
    return readExpiryView(withinSeconds, (walk) =>
      this.#piece((reader) => reader.expiry(collection, walk)),
    )
  }

  count(collection: CollectionRecord): Promise<number> {
    return countLive(this.#steps(collection, 'all'))
  }

  size(
    collection: CollectionRecord,
    range: number,
  ): Promise<{ readonly documents: number; readonly bytes: number }> {
    return sizeOfRange(this.#steps(collection, range))
  }

  middle(collection: CollectionRecord, range: number): Promise<string | undefined> {
    return middleOfRange(this.#steps(collection, range))
  }

  #steps(collection: CollectionRecord, range: number | 'all'): RangeSteps {
    return (step) => this.#piece((reader) => reader.walk(collection, range, step))
  }

  /** One piece a turn, for all readers together: several concurrent counts hold the loop no longer than one. */
  async #piece<Result>(act: (reader: DatabaseReader) => Result): Promise<Result> {
    while (this.#nextTurn !== undefined) await this.#nextTurn
    const reading = this.#read(act)
    const ended = reading.then(eventLoopTurn, eventLoopTurn)
    this.#nextTurn = ended.then(() => {
      this.#nextTurn = undefined
    })
    return reading
  }
}
