import { fillRoom } from './fill-room.ts'
import {
  Refusals,
  groupByHolder,
  isOnStandby,
  movesOf,
  takersOf,
  type PlannedHost,
  type PlannedLease,
} from './holders.ts'
import { shareOut } from './share-out.ts'

export interface LeasePlan {
  /** Lease id to host name. */
  readonly targets: ReadonlyMap<string, string>
  /** Leases that no host may take, because each is at its max or leaves. By id. */
  readonly unassigned: readonly string[]
  /** Leases taken from a host that could have kept them. */
  readonly moves: number
}

/**
 * Decides which host is to own which lease. Greedy and sticky: a host keeps what it has up to its
 * share, free leases fill the others, and as few as possible move. Leaving hosts get nothing, hosts on
 * standby what the others may not take, and no host a lease that it refuses.
 *
 * Deterministic: whatever the order of the input, and whichever host computes it, the plan is the same.
 */
export function planLeases(
  hosts: readonly PlannedHost[],
  leases: readonly PlannedLease[],
): LeasePlan {
  const takers = takersOf(hosts)
  const refusals = new Refusals(takers)
  const sorted = leases.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const { held, free } = groupByHolder(sorted, refusals)
  const room = sharesOf(takers, held, { leases: sorted, refusals })
  const targets = new Map<string, string>()
  const moving: PlannedLease[] = []
  for (const { host } of takers) {
    const own = held.get(host) ?? []
    const kept = Math.min(own.length, room.get(host) ?? 0)
    for (const lease of own.slice(0, kept)) targets.set(lease.id, host)
    room.set(host, (room.get(host) ?? 0) - kept)
    moving.push(...own.slice(kept))
  }
  const unassigned = fillRoom([...free, ...moving], { takers, room, refusals, targets })
  return { targets, unassigned, moves: movesOf(sorted, targets, refusals) }
}

/**
 * How many leases each host is to have: those on standby share what is left over by the others. What a host
 * refuses is no share of its own, and what all of them refuse is none of theirs.
 */
function sharesOf(
  takers: readonly PlannedHost[],
  held: ReadonlyMap<string, readonly PlannedLease[]>,
  { leases, refusals }: { leases: readonly PlannedLease[]; refusals: Refusals },
): Map<string, number> {
  const room = new Map<string, number>()
  let left = leases.length
  for (const standby of [false, true]) {
    const group = takers.filter((taker) => isOnStandby(taker) === standby)
    const possible = (some: readonly PlannedHost[]): number =>
      some.some(({ profile }) => (profile.refuses ?? []).length === 0)
        ? leases.length
        : leases.filter(({ id }) => some.some(({ host }) => refusals.mayHave(host, id))).length
    const bounds = group.map((taker) => ({
      weight: taker.profile.weight,
      min: taker.profile.minLeases,
      max: Math.min(taker.profile.maxLeases, possible([taker])),
      current: held.get(taker.host)?.length ?? 0,
    }))
    const shares = shareOut(bounds, Math.min(left, possible(group)))
    for (const [index, { host }] of group.entries()) {
      room.set(host, shares[index] ?? 0)
      left -= shares[index] ?? 0
    }
  }
  return room
}
