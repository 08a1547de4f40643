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
  const shares = hosts.map(() => 0)
  let left = count
  const mins = hosts.map(({ min, max }) => Math.min(min, max))
  const maxes = hosts.map(({ max }) => max)
  for (const limits of [mins, maxes]) {
    while (left > 0) {
      const next = lowest(hosts, shares, limits)
      if (next === undefined) break
      shares[next] = shares[next]! + 1
      left -= 1
    }
  }
  return shares
}

function lowest(
  hosts: readonly ShareBounds[],
  shares: readonly number[],
  limits: readonly number[],
): number | undefined {
  let best: number | undefined
  for (let index = 0; index < hosts.length; index += 1) {
    if (shares[index]! >= limits[index]!) continue
    if (best === undefined || comesBefore(index, best, hosts, shares)) best = index
  }
  return best
}

function comesBefore(
  a: number,
  b: number,
  hosts: readonly ShareBounds[],
  shares: readonly number[],
): boolean {
  const levelA = (shares[a]! + 1) / hosts[a]!.weight
  const levelB = (shares[b]! + 1) / hosts[b]!.weight
  if (levelA !== levelB) return levelA < levelB
  return keeps(a, hosts, shares) > keeps(b, hosts, shares)
}

/** How many more than its share so far the host has. */
function keeps(index: number, hosts: readonly ShareBounds[], shares: readonly number[]): number {
  return Math.max(0, hosts[index]!.current - shares[index]!)
}
