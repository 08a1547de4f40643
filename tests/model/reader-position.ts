import { commonKeys, rangesOverlap, type FeedMode, type FeedRange } from '@tidemark/contracts'
import { expectSame } from './difference.ts'
import type { Model } from './model.ts'
import type { FollowerKind } from './program.ts'

/** Where a follower stands in one interval of keys, and what it has been told of it. */
export interface ReaderPosition {
  readonly range: FeedRange
  readonly lsn: number
  readonly continuation: string
  /** Losses up to this one were there when it last read. */
  readonly readAt: number
  /** Until something was delivered nothing can have been missed. */
  readonly isStarted: boolean
}

/**
 * Up to which LSN something was lost in the reader's keys, above where it stands and since it read: just then it must
 * be told (TTL-15). Undefined = nothing was; infinite = nobody saw its LSN.
 */
export function missedUpTo(
  model: Model,
  { mode, pendingDeletes }: Pick<FollowerKind, 'mode' | 'pendingDeletes'>,
  { lsn, readAt, range, isStarted }: ReaderPosition,
): number | undefined {
  const asks = mode === 'allVersions' || pendingDeletes
  if (!asks || !isStarted) return undefined
  const missed = model.losses.filter(
    (loss) =>
      loss.mode === mode && loss.at > readAt && rangesOverlap(loss.range, range) && loss.lsn > lsn,
  )
  return missed.length === 0 ? undefined : Math.max(...missed.map((loss) => loss.lsn))
}

/** What the store said of a reader that comes too late must be what is the case. */
export function expectPassed(
  model: Model,
  kind: FollowerKind,
  told: {
    readonly position: ReaderPosition
    /** The horizon that it named; undefined = it was told nothing. */
    readonly horizon: number | undefined
  },
): void {
  const missed = missedUpTo(model, kind, told.position)
  const { range, lsn } = told.position
  const reader = `a ${kind.mode} follower at LSN ${lsn} of ${range.minInclusive}-${range.maxExclusive}`
  const isTold = told.horizon !== undefined
  expectSame(`whether ${reader} is told that it comes too late`, isTold, missed !== undefined)
  if (missed === undefined || missed === Infinity) return
  expectSame(`the horizon that ${reader} is told`, told.horizon, missed)
}

/** The part of a position that lies in `range`; undefined when none does. */
export function cutPosition(
  position: ReaderPosition,
  range: FeedRange,
): ReaderPosition | undefined {
  const part = commonKeys(position.range, range)
  return part && { ...position, range: part }
}

/** Where a reader stands after it read there. */
export function positionAfter(
  model: Model,
  { range, isStarted }: ReaderPosition,
  read: {
    readonly lsn: number
    readonly continuation: string
    readonly mode: FeedMode
    readonly hasChanges: boolean
  },
): ReaderPosition {
  const { lsn, continuation, mode, hasChanges } = read
  return {
    range,
    lsn,
    continuation,
    readAt: model.losses.length,
    isStarted: isStarted || hasChanges || mode === 'allVersions',
  }
}
