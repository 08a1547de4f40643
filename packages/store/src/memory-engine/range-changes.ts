import { InvalidOptionError, feedRangeId, type FeedMode, type FeedRange } from '@tidemark/contracts'
import type { RangeRecord } from '../engine/catalog.ts'
import { cutHorizons, type Horizons } from '../engine/horizons.ts'
import { MemoryRange, type RangeHeritage } from './memory-range.ts'
import type { MemoryRow } from './memory-row.ts'

/** What new ranges get besides what they inherit. */
export interface NewRangeNumbers {
  /** The first range number that was never assigned. */
  readonly range: number
  /** The first segment number that was never assigned. */
  readonly segment: number
  readonly ts: number
}

/**
 * The two ranges that replace one, meeting at `at`.
 *
 * @throws ERR_INVALID_OPTION when `at` is not inside it
 */
export function splitInTwo(
  parent: MemoryRange,
  at: string,
  { range, segment, ts }: NewRangeNumbers,
): readonly [MemoryRange, MemoryRange] {
  const { minInclusive, maxExclusive } = parent
  if (!(minInclusive < at && at < maxExclusive)) {
    throw new InvalidOptionError(
      `a split of ${feedRangeId(parent)} must lie inside it, not at "${at}"`,
    )
  }
  const parents = [...parent.record.parents, parent.record.number]
  const child = (interval: FeedRange, offset: number): MemoryRange =>
    new MemoryRange(
      { ...interval, number: range + offset, parents, segment: segment + offset, ts },
      heritageOf(parent, interval),
    )
  return [
    child({ minInclusive, maxExclusive: at }, 0),
    child({ minInclusive: at, maxExclusive }, 1),
  ]
}

/**
 * The range that replaces two neighbours.
 *
 * @throws ERR_INVALID_OPTION when the second does not begin where the first ends
 */
export function mergeTwo(
  [low, high]: readonly [MemoryRange, MemoryRange],
  { range, segment, ts }: NewRangeNumbers,
): MemoryRange {
  if (low.maxExclusive !== high.minInclusive) {
    throw new InvalidOptionError(
      `${feedRangeId(low)} and ${feedRangeId(high)} are not neighbours in EPK order`,
    )
  }
  const numbers = [low.record, high.record].flatMap(({ parents, number }) => [...parents, number])
  const record: RangeRecord = {
    minInclusive: low.minInclusive,
    maxExclusive: high.maxExclusive,
    number: range,
    parents: [...new Set(numbers)].toSorted((a, b) => a - b),
    segment,
    ts,
  }
  const horizons = (mode: FeedMode): Horizons => [...low.horizons(mode), ...high.horizons(mode)]
  return new MemoryRange(record, {
    lsn: Math.max(low.lsn, high.lsn),
    rows: [...new Set([...low.rows.segments, ...high.rows.segments])],
    versions: [...new Set([...low.versions.segments, ...high.versions.segments])],
    pending: [...low.pending, ...high.pending].toSorted(byLsn),
    horizons: { latestVersion: horizons('latestVersion'), allVersions: horizons('allVersions') },
  })
}

function heritageOf(parent: MemoryRange, interval: FeedRange): RangeHeritage {
  const { minInclusive, maxExclusive } = interval
  return {
    lsn: parent.lsn,
    rows: parent.rows.segments,
    versions: parent.versions.segments,
    pending: parent.pending.filter(({ epk }) => minInclusive <= epk && epk < maxExclusive),
    horizons: {
      latestVersion: cutHorizons(parent.horizons('latestVersion'), interval),
      allVersions: cutHorizons(parent.horizons('allVersions'), interval),
    },
  }
}

function byLsn(a: MemoryRow, b: MemoryRow): number {
  return a.lsn - b.lsn
}
