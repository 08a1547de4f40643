import {
  InvalidContinuationError,
  decodeContinuation,
  feedRangeId,
  rangesEqual,
  type Continuation,
  type DocumentBody,
  type FeedRange,
  type RangeGoneError,
  type RangePosition,
  type StartPosition,
} from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'

/** Where an iteration stands in one of its ranges. */
export interface RangeCursor {
  position: RangePosition
  caughtUp: boolean
}

/** The ranges of one iteration, each inside one present pkrange, and whose turn it is. */
export class RangeCursors<T extends DocumentBody> {
  readonly #reader: FeedReader<T>
  #cursors: readonly RangeCursor[]
  #turn = 0

  private constructor(reader: FeedReader<T>, positions: readonly RangePosition[]) {
    this.#reader = reader
    this.#cursors = positions.map(cursorAt)
  }

  /** @throws ERR_INVALID_CONTINUATION, ERR_NOT_FOUND */
  static async open<T extends DocumentBody>(
    reader: FeedReader<T>,
    { start, range }: { readonly start: StartPosition; readonly range: FeedRange },
  ): Promise<RangeCursors<T>> {
    const { engine, record } = reader.open
    const present = await engine.listRanges(record)
    if (start.kind === 'continuation') {
      const positions = heldPositions(start.continuation, record.rid, range)
      return new RangeCursors(reader, cut(positions, present))
    }
    const positions: RangePosition[] = []
    for (const each of present) {
      const part = intersection(each, range)
      if (part !== undefined) positions.push(await reader.start(part, start))
    }
    return new RangeCursors(reader, positions)
  }

  get all(): readonly RangeCursor[] {
    return this.#cursors
  }

  get caughtUp(): boolean {
    return this.#cursors.every(({ caughtUp }) => caughtUp)
  }

  continuation(): Continuation {
    return this.#reader.continuation(this.#cursors.map(({ position }) => position))
  }

  /** The next one in turn that may have more, so that no range starves; undefined if none has. */
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

  /** Cuts the ranges anew after a pkrange was split or merged; `cause` is thrown if that changes nothing. */
  async recut(cause: RangeGoneError): Promise<void> {
    const { engine, record } = this.#reader.open
    const present = await engine.listRanges(record)
    const before = this.#cursors.map(({ position }) => position)
    const positions = cut(before, present)
    const same = positions.every((position, index) => {
      const old = before[index]
      return old !== undefined && rangesEqual(position.range, old.range)
    })
    if (same && positions.length === before.length) throw cause
    this.#cursors = positions.map(cursorAt)
    this.#turn = 0
  }
}

function cursorAt(position: RangePosition): RangeCursor {
  return { position, caughtUp: false }
}

/** What a continuation holds for `wanted`, in EPK order; it must cover it. */
function heldPositions(
  continuation: string,
  collectionRid: string,
  wanted: FeedRange,
): readonly RangePosition[] {
  const token = decodeContinuation(continuation)
  if (token.collectionRid !== collectionRid) {
    throw new InvalidContinuationError(
      `continuation is of collection ${token.collectionRid}, not of ${collectionRid}`,
    )
  }
  if (token.mode !== 'latestVersion') {
    throw new InvalidContinuationError(
      `continuation is of mode ${token.mode}, the feed is read in mode latestVersion`,
    )
  }
  const positions = cut(token.positions, [wanted]).toSorted((a, b) =>
    a.range.minInclusive < b.range.minInclusive ? -1 : 1,
  )
  let end = wanted.minInclusive
  for (const { range } of positions) {
    if (range.minInclusive !== end) break
    end = range.maxExclusive
  }
  if (end !== wanted.maxExclusive || positions.at(-1)?.range.maxExclusive !== end) {
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
      const range = intersection(position.range, part)
      return range === undefined ? [] : [{ ...position, range }]
    }),
  )
}

function intersection(a: FeedRange, b: FeedRange): FeedRange | undefined {
  const minInclusive = a.minInclusive > b.minInclusive ? a.minInclusive : b.minInclusive
  const maxExclusive = a.maxExclusive < b.maxExclusive ? a.maxExclusive : b.maxExclusive
  return minInclusive < maxExclusive ? { minInclusive, maxExclusive } : undefined
}
