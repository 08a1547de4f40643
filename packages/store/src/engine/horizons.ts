import { commonKeys, rangeContains, rangesOverlap, type FeedRange } from '@tidemark/contracts'

/** The LSN up to which something was purged, for a part of the keys. */
export interface Horizon {
  readonly range: FeedRange
  readonly lsn: number
  /**
   * The time of the purge: higher than that of every earlier purge of the database. LSNs of different parts cannot be
   * compared, so they cannot show the order: a reader with one part's horizon would miss that another's rose.
   */
  readonly stamp: number
}

/**
 * The horizons of a pkrange. It is a list of parts, because after a merge a single number would make the readers of one
 * half appear late by the other half's LSNs. In missing parts, nothing was purged. Parts can overlap, as long as the
 * older one has the higher LSN.
 */
export type Horizons = readonly Horizon[]

/** The highest horizon that concerns a reader of `range`; 0 = none. */
export function horizonAt(horizons: Horizons, range: FeedRange): number {
  return horizonsOf(horizons, range).reduce((highest, { lsn }) => Math.max(highest, lsn), 0)
}

/** The horizons that concern a reader of `range`. */
export function horizonsOf(horizons: Horizons, range: FeedRange): Horizons {
  return horizons.length === 0
    ? horizons
    : horizons.filter((horizon) => rangesOverlap(horizon.range, range))
}

/** The horizons after everything in `range` up to `lsn` may have been purged. */
export function raiseHorizon(horizons: Horizons, raised: Horizon): Horizons {
  // Drop the horizons that the new, more recent one covers.
  const kept = horizons.filter(
    ({ range, lsn }) => !(rangeContains(raised.range, range) && lsn <= raised.lsn),
  )
  return [...kept, raised].toSorted(byKey)
}

/** The horizons of a part of the keys, such as a child's after a split. */
export function cutHorizons(horizons: Horizons, range: FeedRange): Horizons {
  return horizons.flatMap((horizon) => {
    const part = commonKeys(horizon.range, range)
    return part === undefined ? [] : [{ ...horizon, range: part }]
  })
}

/** As engines store them in a column. */
export function horizonsText(horizons: Horizons): string {
  return JSON.stringify(
    horizons.map(({ range, lsn, stamp }) => [range.minInclusive, range.maxExclusive, lsn, stamp]),
  )
}

/** Parses a text that `horizonsText` made. */
export function parseHorizons(text: string): Horizons {
  if (text === '[]') return []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written by horizonsText
  const entries = JSON.parse(text) as [string, string, number, number][]
  return entries.map(([minInclusive, maxExclusive, lsn, stamp]) => ({
    range: { minInclusive, maxExclusive },
    lsn,
    stamp,
  }))
}

function byKey(a: Horizon, b: Horizon): number {
  if (a.range.minInclusive === b.range.minInclusive) return a.stamp - b.stamp
  return a.range.minInclusive < b.range.minInclusive ? -1 : 1
}
