import {
  feedRangeId,
  rangeContains,
  rangeContainsEpk,
  type FeedRange,
  type HostSession,
} from '@tidemark/contracts'

/** What is to become of the leases of one pkrange, so that it has as many as it is to have. */
export interface RangeShape {
  /** How many parts a lease is to be cut into, by its id. */
  readonly cuts: ReadonlyMap<string, number>
  /** Intervals of neighbouring leases, each of which is to be one lease. */
  readonly joins: readonly FeedRange[]
}

/** Bounds for each lease that is wanted, to measure leases by. */
export const BOUNDS_PER_LEASE = 8
/** Parts of one lease in one step, and leases that become one: below half of `REPLACE_LIMIT`. */
const MAX_PARTS = 32

/**
 * Leases that a pkrange of the group is to have. While hosts differ, as when they are replaced one after the other, the highest
 * number counts: leases are cut as soon as the first host wants it, and joined once the last one that did not has left. So no
 * two hosts ever work against each other.
 */
export function wantedLeasesPerRange(hosts: readonly Pick<HostSession, 'profile'>[]): number {
  const staying = hosts.filter(({ profile }) => !profile.leaving)
  return staying.reduce((most, { profile }) => Math.max(most, profile.leasesPerRange ?? 1), 1)
}

/** The leases that lie in each of the pkranges, in EPK order: what their shapes are made of. */
export function leasesWithin(
  pkRanges: readonly FeedRange[],
  leases: readonly FeedRange[],
): readonly { readonly pkRange: FeedRange; readonly within: readonly FeedRange[] }[] {
  const sorted = [...leases].sort(byKey)
  let next = 0
  return [...pkRanges].sort(byKey).map((pkRange) => {
    const within: FeedRange[] = []
    for (; next < sorted.length; next += 1) {
      const lease = sorted[next]!
      if (lease.minInclusive >= pkRange.maxExclusive) break
      if (rangeContains(pkRange, lease)) within.push(lease)
    }
    return { pkRange, within }
  })
}

function byKey(a: FeedRange, b: FeedRange): number {
  return a.minInclusive < b.minInclusive ? -1 : 1
}

/**
 * Cuts the widest leases while there are too few, joins the narrowest neighbours while there are too many: whoever looks, in
 * whatever order leases are cut and joined, comes to the same. `bounds` are evenly spaced keys of the pkrange, in order.
 */
export function shapeOf(
  leases: readonly FeedRange[],
  wanted: number,
  bounds: readonly string[],
): RangeShape {
  const widths = leases.map((lease) => {
    return bounds.reduce((count, bound) => count + Number(rangeContainsEpk(lease, bound)), 0)
  })
  return leases.length < wanted
    ? { cuts: cutsOf(leases, wanted, widths), joins: [] }
    : { cuts: new Map(), joins: joinsOf(leases, wanted, widths) }
}

function cutsOf(
  leases: readonly FeedRange[],
  wanted: number,
  widths: readonly number[],
): ReadonlyMap<string, number> {
  const parts = leases.map(() => 1)
  const widest = (): number => {
    const sizes = parts.map((count, index) => (widths[index] ?? 0) / count)
    return sizes.indexOf(Math.max(...sizes))
  }
  if (leases.length === 0) return new Map()
  for (let missing = wanted - leases.length; missing > 0; missing -= 1) {
    const index = widest()
    parts[index] = (parts[index] ?? 1) + 1
  }
  return new Map(
    leases.flatMap((lease, index): [string, number][] => {
      const count = parts[index] ?? 1
      return count > 1 ? [[feedRangeId(lease), inOneStep(count)]] : []
    }),
  )
}

/** Where it takes several steps, all of them cut into about as many parts. */
function inOneStep(parts: number): number {
  return Math.ceil(parts / Math.ceil(parts / MAX_PARTS))
}

function joinsOf(
  leases: readonly FeedRange[],
  wanted: number,
  widths: readonly number[],
): readonly FeedRange[] {
  const runs = leases.map((range, index) => ({ range, width: widths[index] ?? 0, leases: 1 }))
  while (runs.length > wanted) {
    let best: number | undefined
    let least = Infinity
    for (const [index, run] of runs.entries()) {
      const next = runs[index + 1]
      if (next === undefined || run.leases + next.leases > MAX_PARTS) continue
      if (run.width + next.width >= least) continue
      best = index
      least = run.width + next.width
    }
    const [first, second] = best === undefined ? [] : runs.slice(best, best + 2)
    if (best === undefined || first === undefined || second === undefined) break
    const { minInclusive } = first.range
    const range = { minInclusive, maxExclusive: second.range.maxExclusive }
    const width = first.width + second.width
    runs.splice(best, 2, { range, width, leases: first.leases + second.leases })
  }
  return runs.filter((run) => run.leases > 1).map(({ range }) => range)
}
