import {
  InvalidContinuationError,
  RangeGoneError,
  assertOfCollection,
  commonKeys,
  decodeContinuation,
  feedRangeId,
  lsn,
  rangesEqual,
  type Continuation,
  type DocumentBody,
  type ExpectedContinuation,
  type FeedRange,
  type HorizonPassedError,
  type RangePosition,
  type Resynchronization,
  type StartPosition,
} from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'

/** The state of an iteration in one of its ranges. */
export interface RangeCursor {
  position: RangePosition
  caughtUp: boolean
  /** The range begins again, and its next page must report it. */
  resync: CursorResync | undefined
}

interface CursorResync {
  readonly told: Resynchronization
  /**
   * The reader's position when the horizon passed it. If it resumes from there before it got the report, it gets the
   * report then.
   */
  readonly passedAt: RangePosition
}

/** Cuts or starts in a row that can fail because ranges change meanwhile. */
const MAX_CUTS = 10

/** The ranges of one iteration, each inside one present pkrange, and whose turn it is. */
export class RangeCursors<T extends DocumentBody> {
  readonly #reader: FeedReader<T>
  #cursors: readonly RangeCursor[]
  #turn = 0

  /** Cuts in a row that changed nothing. */
  #vainCuts = 0

  private constructor(reader: FeedReader<T>, positions: readonly RangePosition[]) {
    this.#reader = reader
    this.#cursors = positions.map(cursorAt)
  }

  /** @throws ERR_INVALID_CONTINUATION, ERR_NOT_FOUND, ERR_HORIZON_PASSED */
  static async open<T extends DocumentBody>(
    reader: FeedReader<T>,
    options: { readonly start: StartPosition; readonly range: FeedRange },
  ): Promise<RangeCursors<T>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return new RangeCursors(reader, await startPositions(reader, options))
      } catch (error) {
        // The range was split after it was listed. Nothing was delivered yet, so all ranges start again.
        if (!(error instanceof RangeGoneError) || attempt === MAX_CUTS) throw error
      }
    }
  }

  get all(): readonly RangeCursor[] {
    return this.#cursors
  }

  get caughtUp(): boolean {
    return this.#cursors.every(({ caughtUp }) => caughtUp)
  }

  continuation(): Continuation {
    return this.#reader.continuation(
      this.#cursors.map(({ position, resync }) => resync?.passedAt ?? position),
    )
  }

  /** The next cursor in turn that may have more, so that no range starves; undefined if none has. */
  next(): RangeCursor | undefined {
    const count = this.#cursors.length
    for (let step = 0; step < count; step++) {
      const cursor = this.#cursors[(this.#turn + step) % count]
      if (cursor === undefined || cursor.caughtUp) continue
      this.#turn = (this.#turn + step + 1) % count
      return cursor
    }
    return undefined
  }

  /**
   * Cuts the ranges again after a pkrange was split or merged; positions keep their own intervals. Throws `cause` if
   * this repeatedly changes nothing.
   */
  async recut(cause: RangeGoneError): Promise<void> {
    const { engine, record } = this.#reader.open
    const present = await engine.listRanges(record)
    const before = this.#cursors
    const cursors = before.flatMap((cursor) => cutCursor(cursor, present))
    const isSame =
      cursors.length === before.length &&
      cursors.every(({ position }, index) => {
        const old = before[index]
        return old !== undefined && rangesEqual(position.range, old.position.range)
      })
    // If the ranges were split and merged again meanwhile, they may look as before. Then the next read succeeds.
    this.#vainCuts = isSame ? this.#vainCuts + 1 : 0
    if (this.#vainCuts === MAX_CUTS) throw cause
    this.#cursors = cursors
    this.#turn = 0
  }

  /** Applies the result of a read to the cursor. */
  advance(
    cursor: RangeCursor,
    to: { readonly position: RangePosition; readonly caughtUp: boolean },
  ): void {
    cursor.position = to.position
    cursor.caughtUp = to.caughtUp
    this.#vainCuts = 0
  }

  /** Restarts a range after the horizon passed its reader (TTL-15). */
  async resync(cursor: RangeCursor, { lsn: at, horizon }: HorizonPassedError): Promise<void> {
    const passedAt = cursor.position
    const { range } = passedAt
    // Read it first: everything that exists at this moment is below it, and is delivered by then.
    const newest = await this.#reader.start(range, 'now')
    cursor.position = await this.#reader.start(range, 'beginning')
    cursor.caughtUp = false
    const told = { range, lsn: lsn(at), horizon: lsn(horizon), untilLsn: newest.lsn }
    cursor.resync = { told, passedAt }
  }
}

function cursorAt(position: RangePosition): RangeCursor {
  return { position, caughtUp: false, resync: undefined }
}

/** A parent's position, and its report, apply to every child. */
function cutCursor(
  { position, resync }: RangeCursor,
  present: readonly FeedRange[],
): readonly RangeCursor[] {
  return cut([position], present).map((part) => ({
    ...cursorAt(part),
    resync: resync && {
      told: { ...resync.told, range: part.range },
      passedAt: { ...resync.passedAt, range: part.range },
    },
  }))
}

async function startPositions<T extends DocumentBody>(
  reader: FeedReader<T>,
  { start, range }: { readonly start: StartPosition; readonly range: FeedRange },
): Promise<readonly RangePosition[]> {
  const { engine, record } = reader.open
  const present = await engine.listRanges(record)
  if (typeof start === 'object' && 'continuation' in start) {
    const { rid: collectionRid, id: collectionName } = record
    const owner = { collectionRid, collectionName, mode: reader.mode }
    return cut(heldPositions(start.continuation, owner, range), present)
  }
  const positions: RangePosition[] = []
  for (const each of present) {
    const part = commonKeys(each, range)
    if (part !== undefined) positions.push(await reader.start(part, start))
  }
  return positions
}

/** The positions of a continuation for `wanted`, in EPK order. They must cover it. */
function heldPositions(
  continuation: string,
  { mode, ...owner }: Omit<ExpectedContinuation, 'range'>,
  wanted: FeedRange,
): readonly RangePosition[] {
  const token = decodeContinuation(continuation)
  assertOfCollection(token, owner)
  if (token.mode !== mode) {
    throw new InvalidContinuationError(
      `continuation is of mode ${token.mode}, the feed is read in mode ${mode}`,
    )
  }
  const positions = cut(token.positions, [wanted]).toSorted((a, b) =>
    a.range.minInclusive < b.range.minInclusive ? -1 : 1,
  )
  let end = wanted.minInclusive
  const doMeet = positions.every(({ range }) => {
    const isNext = range.minInclusive === end
    end = range.maxExclusive
    return isNext
  })
  if (!doMeet || end !== wanted.maxExclusive) {
    const held = token.positions.map(({ range }) => feedRangeId(range)).join(', ')
    throw new InvalidContinuationError(
      `continuation is of range ${held}, which does not cover ${feedRangeId(wanted)} once`,
    )
  }
  return positions
}

/** Each position in each part of its range: a parent's position is valid on every child. */
function cut(
  positions: readonly RangePosition[],
  parts: readonly FeedRange[],
): readonly RangePosition[] {
  return positions.flatMap((position) =>
    parts.flatMap((part) => {
      const range = commonKeys(position.range, part)
      return range === undefined ? [] : [{ ...position, range }]
    }),
  )
}
