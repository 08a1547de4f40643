import {
  continuationPosition,
  encodeContinuation,
  lsn,
  rangesEqual,
  type Change,
  type Continuation,
  type DocumentBody,
  type FeedMode,
  type FeedRange,
  type RangePosition,
  checkedStart,
  type StartPosition,
} from '@tidemark/contracts'
import {
  changeOfRow,
  LIVE_ROW,
  feedVersion,
  type FeedRow,
  type VersionRow,
} from '@tidemark/contracts/internal'
import type { OpenCollection } from '../documents/open-collection.ts'
import {
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedPageQuery,
  type FeedStart,
} from '../engine/feed-query.ts'
import { MAX_FEED_PAGE_CHARS } from '../paging/item-count.ts'
import { assertLogReaches } from './log-reach.ts'
import {
  assertNotBeyond,
  assertNothingMissed,
  newestPurge,
  positionAfter,
} from './reader-position.ts'

/** Continuations that are kept with their positions: the newest of each of this many ranges, if all are read in turn. */
const MAX_MADE = 1_000

/** Changes after one position, and the position after them. */
export interface ReadChanges<T extends DocumentBody> {
  readonly changes: Change<T>[]
  readonly position: RangePosition
  readonly caughtUp: boolean
}

/** As `ReadChanges`, with the engine's rows: bodies are JSON text. */
export type ReadRows = {
  readonly position: RangePosition
  readonly caughtUp: boolean
} & (
  | { readonly kind: 'documents'; readonly rows: readonly FeedRow[] }
  | { readonly kind: 'versions'; readonly rows: readonly VersionRow[] }
)

/** The limits of a page. */
export interface PageLimits {
  readonly maxItems: number
  readonly signal?: AbortSignal | undefined
}

/** Reads one collection's feed in one mode, range by range, with parsed positions. */
export class FeedReader<T extends DocumentBody> {
  readonly open: OpenCollection
  readonly mode: FeedMode
  /** Positions of continuations that were made here last: they come back with the next read and the next wait. */
  readonly #made = new Map<string, RangePosition>()

  constructor(open: OpenCollection, mode: FeedMode = 'latestVersion') {
    this.open = open
    this.mode = mode
  }

  /** @throws ERR_INVALID_CONTINUATION when the text does not fit this collection, mode and range */
  position(continuation: string, range: FeedRange): RangePosition {
    const { rid: collectionRid, id: collectionName } = this.open.record
    const made = this.#made.get(continuation)
    if (made !== undefined && rangesEqual(made.range, range)) return made
    const { mode } = this
    return continuationPosition(continuation, { collectionRid, collectionName, mode, range })
  }

  continuation(positions: readonly RangePosition[]): Continuation {
    const { rid } = this.open.record
    return encodeContinuation({ collectionRid: rid, mode: this.mode, positions })
  }

  /** Of one range. */
  continuationOf(position: RangePosition): Continuation {
    const continuation = this.continuation([position])
    this.#made.set(continuation, position)
    if (this.#made.size > MAX_MADE) this.#made.delete(this.#made.keys().next().value ?? '')
    return continuation
  }

  /** @throws ERR_HORIZON_PASSED when the log of all versions does not reach back to a start by time */
  async start(range: FeedRange, start: StartPosition): Promise<RangePosition> {
    const from = checkedStart('start', start)
    if (typeof from === 'object' && 'continuation' in from) {
      return this.position(from.continuation, range)
    }
    const { engine, record: collection } = this.open
    const counter = await engine.resolveStart({
      collection,
      range,
      start: engineStart(from),
      mode: this.mode,
    })
    const timeMs =
      typeof from === 'object' && this.mode === 'allVersions' ? from.getTime() : undefined
    if (timeMs !== undefined) await assertLogReaches(this.open, { range, timeMs, counter })
    // A reader that was promised everything after some moment can miss something. Other readers have nothing to miss
    // yet.
    const isPromised = from === 'now' || timeMs !== undefined
    const purgeStamp = isPromised ? newestPurge(counter.horizons) : undefined
    return { range, epoch: counter.epoch, lsn: lsn(counter.lsn), purgeStamp }
  }

  /** @throws ERR_HORIZON_PASSED, ERR_RANGE_GONE, ERR_ALL_VERSIONS_OFF, ERR_INVALID_CONTINUATION */
  async read(
    position: RangePosition,
    request: PageLimits & { readonly pendingDeletes: boolean },
  ): Promise<ReadChanges<T>> {
    const { pendingDeletes } = request
    const { position: after, caughtUp, ...page } = await this.readRows(position, request)
    const { stamp } = this.open
    if (page.kind === 'versions') {
      const changes = page.rows.map((row) => changeOfRow<T>(stamp, row))
      return { changes, position: after, caughtUp }
    }
    const changes: Change<T>[] = []
    for (const row of page.rows) {
      if (pendingDeletes || row[1] === LIVE_ROW) changes.push(changeOfRow<T>(stamp, row))
    }
    return { changes, position: after, caughtUp }
  }

  /**
   * As `read`, but not decoded and always with the rows of pending deletes.
   *
   * @throws as `read`
   */
  async readRows(
    position: RangePosition,
    request: PageLimits & { readonly pendingDeletes: boolean },
  ): Promise<ReadRows> {
    const { mode } = this
    if (mode === 'allVersions') {
      const page = await this.#versionPage(position, request)
      assertNothingMissed(position, page.horizons)
      const { rows, caughtUp } = page
      return { kind: 'versions', rows, position: positionAfter(position, page, mode), caughtUp }
    }
    const page = await this.#page(position, request)
    if (request.pendingDeletes) assertNothingMissed(position, page.horizons)
    const { rows, caughtUp } = page
    return { kind: 'documents', rows, position: positionAfter(position, page, mode), caughtUp }
  }

  /** As `read`, with documents as JSON text and without pending deletes. Only for latest-version mode. */
  async readText(
    position: RangePosition,
    limits: PageLimits,
  ): Promise<{ bodies: readonly string[]; position: RangePosition; caughtUp: boolean }> {
    const page = await this.#page(position, limits)
    const bodies: string[] = []
    for (const row of page.rows) {
      if (row[1] === LIVE_ROW) bodies.push(this.open.stamp.text(feedVersion(row)))
    }
    const { caughtUp } = page
    return { bodies, position: positionAfter(position, page, this.mode), caughtUp }
  }

  wait(position: RangePosition, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const { engine, record } = this.open
    const { range, lsn: afterLsn } = position
    return engine.waitForCommit({ collection: record, range, afterLsn, timeoutMs, signal })
  }

  async #page(position: RangePosition, limits: PageLimits): Promise<EngineFeedPage> {
    const { engine, turns } = this.open
    if (turns.due) await turns.take()
    const page = await engine.readFeedPage(this.#query(position, limits))
    assertNotBeyond(position, page.lsn)
    for (const row of page.rows) turns.spend(row[2].length)
    return page
  }

  async #versionPage(position: RangePosition, limits: PageLimits): Promise<EngineVersionPage> {
    const { engine, turns } = this.open
    if (turns.due) await turns.take()
    const page = await engine.readVersionPage(this.#query(position, limits))
    assertNotBeyond(position, page.lsn)
    for (const { current, previous } of page.rows) {
      turns.spend((current?.body.length ?? 0) + (previous?.body.length ?? 0))
    }
    return page
  }

  #query({ range, lsn: afterLsn }: RangePosition, { maxItems, signal }: PageLimits): FeedPageQuery {
    const collection = this.open.record
    return { collection, range, afterLsn, maxItems, maxChars: MAX_FEED_PAGE_CHARS, signal }
  }
}

function engineStart(start: 'beginning' | 'now' | Date): FeedStart {
  if (start === 'beginning' || start === 'now') return { kind: start }
  return { kind: 'time', ts: Math.floor(start.getTime() / 1000) }
}
