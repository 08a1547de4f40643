import { rangesOverlap, type FeedRange } from '@tidemark/contracts'
import { commonKeys } from './range-lookup.ts'

/** Up to which LSN something was purged, for a part of the keys. */
export interface Horizon {
  readonly range: FeedRange
  readonly lsn: number
}

/**
 * The horizons of a pkrange: a list of disjoint parts, because after a merge one number would make one
 * half's readers look late by the other half's LSNs. Parts that are missing have had nothing purged.
 */
export type Horizons = readonly Horizon[]

/** The highest horizon that concerns a reader of `range`; 0 = none. */
export function horizonAt(horizons: Horizons, range: FeedRange): number {
  let highest = 0
  for (const horizon of horizons) {
    if (horizon.lsn > highest && rangesOverlap(horizon.range, range)) highest = horizon.lsn
  }
  return highest
}

/** The horizons after everything of `range` up to `lsn` may have been purged. Never lowers one. */
export function raiseHorizon(horizons: Horizons, { range, lsn }: Horizon): Horizons {
  const highest = Math.max(lsn, horizonAt(horizons, range))
  return [...outside(horizons, range), { range, lsn: highest }].toSorted(byKey)
}

/** What a part of the keys has of them: a child's, after a split. */
export function cutHorizons(horizons: Horizons, range: FeedRange): Horizons {
  return horizons.flatMap((horizon) => {
    const part = commonKeys(horizon.range, range)
    return part === undefined ? [] : [{ range: part, lsn: horizon.lsn }]
  })
}

/** The parts of `horizons` that lie outside `range`. */
function outside(horizons: Horizons, range: FeedRange): Horizons {
  const below = { minInclusive: '', maxExclusive: range.minInclusive }
  const above = { minInclusive: range.maxExclusive, maxExclusive: 'FF' }
  return [...cutHorizons(horizons, below), ...cutHorizons(horizons, above)]
}

function byKey(a: Horizon, b: Horizon): number {
  return a.range.minInclusive < b.range.minInclusive ? -1 : 1
}
