import {
  InvalidContinuationError,
  assertNever,
  continuationPosition,
  encodeContinuation,
  lsn,
  type Change,
  type Continuation,
  type DocumentBody,
  type FeedRange,
  type RangePosition,
  type StartPosition,
} from '@tidemark/contracts'
import type { OpenCollection } from '../documents/open-collection.ts'
import { LIVE_ROW, type EngineFeedPage, type FeedStart } from '../engine/feed-query.ts'
import { ChangeDecoder } from './change-decoder.ts'
import { MAX_PAGE_CHARS } from '../paging/item-count.ts'

/** Changes after one position, and the position after them. */
export interface ReadChanges<T extends DocumentBody> {
  readonly changes: Change<T>[]
  readonly position: RangePosition
  readonly caughtUp: boolean
}

/** Reads one collection's feed, range by range, by positions that need no parsing. */
export class FeedReader<T extends DocumentBody> {
  readonly open: OpenCollection
  readonly #decoder: ChangeDecoder<T>

  constructor(open: OpenCollection) {
    this.open = open
    this.#decoder = new ChangeDecoder(open.record.definition)
  }

  /** @throws ERR_INVALID_CONTINUATION when the text does not fit this collection and range */
  position(continuation: string, range: FeedRange): RangePosition {
    const { rid } = this.open.record
    return continuationPosition(continuation, { collectionRid: rid, mode: 'latestVersion', range })
  }

  continuation(positions: readonly RangePosition[]): Continuation {
    const { rid } = this.open.record
    return encodeContinuation({ collectionRid: rid, mode: 'latestVersion', positions })
  }

  async start(range: FeedRange, start: StartPosition): Promise<RangePosition> {
    if (start.kind === 'continuation') return this.position(start.continuation, range)
    const { engine, record } = this.open
    const counter = await engine.resolveStart({
      collection: record,
      range,
      start: engineStart(start),
      mode: 'latestVersion',
    })
    // A reader from now relies on everything after this moment; others have nothing to miss yet.
    const horizon = start.kind === 'now' ? lsn(counter.horizon) : undefined
    return { range, epoch: counter.epoch, lsn: lsn(counter.lsn), horizon }
  }

  async read(
    position: RangePosition,
    { maxItems, pendingDeletes }: { readonly maxItems: number; readonly pendingDeletes: boolean },
  ): Promise<ReadChanges<T>> {
    const page = await this.#page(position, maxItems)
    return {
      changes: this.#decoder.decode(page.rows, pendingDeletes),
      position: positionAfter(position, page),
      caughtUp: page.caughtUp,
    }
  }

  /** As `read`, with documents as JSON text and without pending deletes. */
  async readText(
    position: RangePosition,
    maxItems: number,
  ): Promise<{ bodies: readonly string[]; position: RangePosition; caughtUp: boolean }> {
    const page = await this.#page(position, maxItems)
    const bodies: string[] = []
    for (const row of page.rows) {
      if (row[1] === LIVE_ROW) bodies.push(row[2])
    }
    return { bodies, position: positionAfter(position, page), caughtUp: page.caughtUp }
  }

  wait(position: RangePosition, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const { engine, record } = this.open
    const { range, lsn: afterLsn } = position
    return engine.waitForCommit({ collection: record, range, afterLsn, timeoutMs, signal })
  }

  async #page(position: RangePosition, maxItems: number): Promise<EngineFeedPage> {
    const { engine, record, turns } = this.open
    if (turns.due) await turns.take()
    const page = await engine.readFeedPage({
      collection: record,
      range: position.range,
      afterLsn: position.lsn,
      maxItems,
      maxChars: MAX_PAGE_CHARS,
    })
    if (page.lsn < position.lsn) {
      // Going on from here would pass over whatever gets the LSNs in between.
      throw new InvalidContinuationError(
        `continuation is at LSN ${position.lsn}, but the newest of its range is ${page.lsn}: ` +
          'it is of another copy of the store, or the store was restored from an older one',
      )
    }
    for (const row of page.rows) turns.spend(row[2].length)
    return page
  }
}

function positionAfter({ range }: RangePosition, page: EngineFeedPage): RangePosition {
  return { range, epoch: page.epoch, lsn: lsn(page.lsn), horizon: lsn(page.horizon) }
}

function engineStart(start: Exclude<StartPosition, { kind: 'continuation' }>): FeedStart {
  switch (start.kind) {
    case 'beginning':
    case 'now':
      return start
    case 'time':
      return { kind: 'time', ts: Math.floor(start.timeMs / 1000) }
    default:
      return assertNever(start)
  }
}
