import type {
  CollectionRecord,
  ExpiryView,
  FeedCount,
  FeedCountQuery,
  ScanPage,
  ScanQuery,
} from '@tidemark/store'
import type { LoopTurns } from './platform/loop-turns.ts'
import { countInPieces } from './reader/count-feed.ts'
import type { DatabaseReader } from './reader/database-reader.ts'
import { scanPastExpired } from './reader/document-scan.ts'
import { readExpiryView } from './reader/expiry-view.ts'
import { countLive, middleOfRange, sizeOfRange, type RangeSteps } from './reader/size-of-range.ts'

type Read = <Result>(act: (reader: DatabaseReader) => Result) => Promise<Result>

/**
 * Reads whose work is not bounded by what they return. They go piece by piece, each a snapshot of its own and a
 * few thousand rows at most, and the event loop has a turn after each: no timer of this process, and no
 * heartbeat of its leases, waits for a large collection.
 */
export class PiecewiseReads {
  readonly #read: Read
  readonly #turns: LoopTurns

  constructor(read: Read, turns: LoopTurns) {
    this.#read = read
    this.#turns = turns
  }

  scan(query: ScanQuery): Promise<ScanPage> {
    const read = this.#inPieces()
    return scanPastExpired(query, (piece) => read((reader) => reader.scan(piece)))
  }

  countFeed(query: FeedCountQuery): Promise<FeedCount> {
    const read = this.#inPieces()
    return countInPieces(query, (piece) => read((reader) => reader.countFeed(piece)))
  }

  expiry(collection: CollectionRecord, withinSeconds: readonly number[]): Promise<ExpiryView> {
    const read = this.#inPieces()
    return readExpiryView(withinSeconds, (walk) =>
      read((reader) => reader.expiry(collection, walk)),
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
    const read = this.#inPieces()
    return (step) => read((reader) => reader.walk(collection, range, step))
  }

  /** The first piece may be all: it waits no longer than any other read. */
  #inPieces(): Read {
    let isFirst = true
    return async (act) => {
      if (!isFirst) await this.#turns.next()
      isFirst = false
      return this.#read(act)
    }
  }
}
