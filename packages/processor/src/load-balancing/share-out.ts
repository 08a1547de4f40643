/** What bounds one host's share. */
export interface ShareBounds {
  readonly weight: number
  readonly min: number
  readonly max: number
  /** How many it has now: of two hosts that could get the odd one, the one that has it keeps it. */
  readonly current: number
}

/**
 * How many of `count` leases each host is to have: the mins first, shared out if there are too few;
 * then one by one to the host that is lowest for its weight, up to its max. So any two hosts of one
 * weight that are at no bound differ by at most one (LE-5, LE-7).
 *
 * Equal candidates are told apart by what they have, then by their place in `hosts`.
 */
export function shareOut(hosts: readonly ShareBounds[], count: number): number[] {
  const shares = hosts.map((bounds, place) => ({ ...bounds, place, share: 0 }))
  let left = count
  for (const limitOf of [minOf, maxOf]) {
    /** Those below their limit, the lowest last. */
    const below = shares.filter((host) => host.share < limitOf(host)).sort(highestFirst)
    for (let next = below.pop(); next !== undefined && left > 0; next = below.pop()) {
      next.share += 1
      left -= 1
      if (next.share < limitOf(next)) insert(below, next)
    }
  }
  return shares.map(({ share }) => share)
}

interface Share extends ShareBounds {
  readonly place: number
  /** So far. */
  share: number
}

function minOf({ min, max }: ShareBounds): number {
  return Math.min(min, max)
}

function maxOf({ max }: ShareBounds): number {
  return max
}

function highestFirst(a: Share, b: Share): number {
  return (
    (b.share + 1) / b.weight - (a.share + 1) / a.weight || keeps(a) - keeps(b) || b.place - a.place
  )
}

/** How many more than its share so far the host has. */
function keeps({ current, share }: Share): number {
  return Math.max(0, current - share)
}

function insert(below: Share[], host: Share): void {
  let low = 0
  let high = below.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (highestFirst(below[middle]!, host) < 0) low = middle + 1
    else high = middle
  }
  below.splice(low, 0, host)
}
