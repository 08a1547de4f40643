import { rangesOverlap, rangeContainsEpk, type FeedMode, type FeedRange } from '@tidemark/contracts'
import type { Model } from './model.ts'

/** What a reader has already been told of one part of the keys. */
interface Watch {
  readonly range: FeedRange
  /** Losses up to this one were there when it last read. */
  readonly readAt: number
  /** Nothing was delivered: nothing can have been missed. `maybe`: the store may see it either way. */
  readonly started: 'no' | 'maybe' | 'yes'
}

/** Where a follower stands in one interval of keys. */
export interface ReaderPosition {
  readonly range: FeedRange
  readonly lsn: number
  readonly continuation: string
  readonly watches: readonly Watch[]
}

export function positionAtStart(
  range: FeedRange,
  start: Pick<Watch, 'readAt' | 'started'> & Pick<ReaderPosition, 'lsn' | 'continuation'>,
): ReaderPosition {
  const { readAt, started, lsn, continuation } = start
  return { range, lsn, continuation, watches: [{ range, readAt, started }] }
}

/** Something in the reader's interval, above where it stands, was lost since it read: it must be told (TTL-15). */
export function mustBeTold(model: Model, mode: FeedMode, position: ReaderPosition): boolean {
  const { lsn, watches } = position
  return watches.some(
    ({ range, readAt, started }) =>
      started === 'yes' &&
      model.losses.some(
        (loss) =>
          loss.mode === mode &&
          loss.at > readAt &&
          loss.epk !== undefined &&
          rangeContainsEpk(range, loss.epk) &&
          loss.lsn > lsn,
      ),
  )
}

/** Something may have been lost, as far as pkranges and segments say: it may be told, to be safe. */
export function mayBeTold(model: Model, mode: FeedMode, position: ReaderPosition): boolean {
  const { lsn, watches, range } = position
  if (watches.every(({ started }) => started === 'no')) return false
  const readAt = Math.min(...watches.map((watch) => watch.readAt))
  return model.losses.some(
    (loss) =>
      loss.mode === mode && loss.at > readAt && rangesOverlap(loss.range, range) && loss.lsn > lsn,
  )
}

/** The part of a position that lies in `range`; undefined when none does. */
export function cutPosition(
  position: ReaderPosition,
  range: FeedRange,
): ReaderPosition | undefined {
  const part = intersection(position.range, range)
  if (part === undefined) return undefined
  const watches = position.watches.flatMap((watch) => {
    const cut = intersection(watch.range, part)
    return cut === undefined ? [] : [{ ...watch, range: cut }]
  })
  return { ...position, range: part, watches }
}

/** Where a reader stands after it read there. */
export function positionAfter(
  model: Model,
  before: ReaderPosition,
  read: {
    readonly lsn: number
    readonly continuation: string
    readonly mode: FeedMode
    readonly hasChanges: boolean
  },
): ReaderPosition {
  const { range, watches } = before
  const { lsn, continuation, mode, hasChanges } = read
  const wasStarted = watches.some(({ started }) => started === 'yes')
  const isStarted = wasStarted || hasChanges || mode === 'allVersions'
  const started = isStarted ? 'yes' : 'no'
  return { range, lsn, continuation, watches: [{ range, readAt: model.losses.length, started }] }
}

function intersection(a: FeedRange, b: FeedRange): FeedRange | undefined {
  const minInclusive = a.minInclusive > b.minInclusive ? a.minInclusive : b.minInclusive
  const maxExclusive = a.maxExclusive < b.maxExclusive ? a.maxExclusive : b.maxExclusive
  return minInclusive < maxExclusive ? { minInclusive, maxExclusive } : undefined
}
