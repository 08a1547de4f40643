import {
  holderOf,
  isOnStandby,
  type PlannedHost,
  type PlannedLease,
  type Refusals,
} from './holders.ts'

export interface Placing {
  readonly takers: readonly PlannedHost[]
  /** How many more leases each host gets. */
  readonly room: Map<string, number>
  readonly refusals: Refusals
  readonly targets: Map<string, string>
}

interface Filling extends Placing {
  /** How many leases each host has so far. */
  readonly counts: Map<string, number>
}

/** Gives free leases, then moving ones, to the hosts with room; returns the ids that are left over. */
export function fillRoom(leases: readonly PlannedLease[], given: Placing): string[] {
  const { takers, room, refusals, targets } = given
  const counts = new Map<string, number>()
  for (const host of targets.values()) counts.set(host, (counts.get(host) ?? 0) + 1)
  const placing: Filling = { ...given, counts }
  const hasRoom = (host: string): boolean => (room.get(host) ?? 0) > 0
  const rest: PlannedLease[] = []
  // A lease that is still in the hands of a host with room goes back to it: nothing moves.
  for (const lease of leases) {
    const { id, owner } = lease
    if (owner !== undefined && hasRoom(owner) && refusals.mayHave(owner, id)) {
      place(id, owner, placing)
    } else {
      rest.push(lease)
    }
  }
  const open = takers.map(({ host }) => host)
  const unassigned: string[] = []
  // Running hosts' leases come last, so that what stays over is what nobody works on anyway.
  for (const lease of rest) {
    const { id } = lease
    while (open[0] !== undefined && !hasRoom(open[0])) open.shift()
    const taker = open.find((host) => hasRoom(host) && refusals.mayHave(host, id))
    if (taker !== undefined) place(id, taker, placing)
    else if (!exchange(id, placing) && !exceed(lease, placing)) unassigned.push(id)
  }
  return unassigned.sort()
}

function place(leaseId: string, host: string, { room, targets, counts }: Filling): void {
  targets.set(leaseId, host)
  counts.set(host, (counts.get(host) ?? 0) + 1)
  room.set(host, (room.get(host) ?? 0) - 1)
}

/** All that have room refuse it: a host that has none takes it, and gives one of its own to them. */
function exchange(leaseId: string, placing: Filling): boolean {
  const { room, refusals, targets } = placing
  const withRoom = [...room].filter(([, count]) => count > 0).map(([host]) => host)
  if (withRoom.length === 0) return false
  for (const [other, holder] of targets) {
    if (!refusals.mayHave(holder, leaseId)) continue
    const taker = withRoom.find((host) => refusals.mayHave(host, other))
    if (taker === undefined) continue
    place(other, taker, placing)
    targets.set(leaseId, holder)
    return true
  }
  return false
}

/**
 * Nobody who is to have more takes it: better one more than its share for another than a lease that nobody has.
 * A host that has it already goes on with it.
 */
function exceed(lease: PlannedLease, placing: Filling): boolean {
  const { takers, refusals, counts } = placing
  const holder = holderOf(lease, refusals)
  const rank = (taker: PlannedHost): readonly number[] => [
    Number(isOnStandby(taker)),
    Number(taker.host !== holder),
    (counts.get(taker.host) ?? 0) / taker.profile.weight,
  ]
  const [taker] = takers
    .filter(({ host, profile }) => {
      return refusals.mayHave(host, lease.id) && (counts.get(host) ?? 0) < profile.maxLeases
    })
    .sort((a, b) => {
      const other = rank(b)
      return rank(a).reduce((sign, value, index) => sign || value - (other[index] ?? 0), 0)
    })
  if (taker === undefined) return false
  place(lease.id, taker.host, placing)
  return true
}
