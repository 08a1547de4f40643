import type { HostProfile } from '@tidemark/contracts'
import { shareOut } from './share-out.ts'

export interface PlannedHost {
  readonly host: string
  readonly profile: HostProfile
}

export interface PlannedLease {
  readonly id: string
  /** Name of the host that owns it; it need not be among the hosts. */
  readonly owner: string | undefined
  /** Host that the plan before gives it to. */
  readonly target: string | undefined
}

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
  const takers = hosts
    .filter(({ profile }) => !profile.leaving)
    .sort((a, b) => (a.host < b.host ? -1 : 1))
  const refusals = new Refusals(takers)
  const sorted = [...leases].sort((a, b) => (a.id < b.id ? -1 : 1))
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
  const unassigned = fill([...free, ...moving], { takers, room, refusals, targets })
  const moves = sorted.filter((lease) => {
    const holder = holderOf(lease, refusals)
    return holder !== undefined && targets.get(lease.id) !== holder
  }).length
  return { targets, unassigned, moves }
}

/** Which host works on which lease not at all. */
class Refusals {
  readonly #ofHost: ReadonlyMap<string, ReadonlySet<string>>

  constructor(hosts: readonly PlannedHost[]) {
    this.#ofHost = new Map(hosts.map(({ host, profile }) => [host, new Set(profile.refuses)]))
  }

  /** Whether the host is one of those that may get leases, and does not refuse this one. */
  mayHave(host: string, leaseId: string): boolean {
    return this.#ofHost.get(host)?.has(leaseId) === false
  }
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

function isOnStandby({ profile }: PlannedHost): boolean {
  return profile.standby ?? false
}

/**
 * A lease belongs to the host that the last plan gave it to, if that is still there, else to its
 * owner: a hand-over that is under way is not turned back by the next plan.
 */
function groupByHolder(
  leases: readonly PlannedLease[],
  refusals: Refusals,
): { held: Map<string, PlannedLease[]>; free: PlannedLease[] } {
  const held = new Map<string, PlannedLease[]>()
  const free: PlannedLease[] = []
  for (const lease of leases) {
    const holder = holderOf(lease, refusals)
    if (holder === undefined) {
      free.push(lease)
      continue
    }
    const own = held.get(holder)
    if (own === undefined) held.set(holder, [lease])
    else own.push(lease)
  }
  // What a host has in hand stays with it before what it was only promised.
  for (const [host, own] of held) {
    own.sort((a, b) => Number(b.owner === host) - Number(a.owner === host))
  }
  return { held, free }
}

function holderOf({ id, target, owner }: PlannedLease, refusals: Refusals): string | undefined {
  return [target, owner].find((name) => name !== undefined && refusals.mayHave(name, id))
}

interface Placing {
  readonly takers: readonly PlannedHost[]
  /** How many more leases each host gets. */
  readonly room: Map<string, number>
  readonly refusals: Refusals
  readonly targets: Map<string, string>
}

/** Gives free leases, then moving ones, to the hosts with room; returns the ids that are left over. */
function fill(leases: readonly PlannedLease[], placing: Placing): string[] {
  const { room, refusals } = placing
  const rest: PlannedLease[] = []
  // A lease that is still in the hands of a host with room goes back to it: nothing moves.
  for (const lease of leases) {
    const { id, owner } = lease
    if (owner !== undefined && (room.get(owner) ?? 0) > 0 && refusals.mayHave(owner, id)) {
      place(id, owner, placing)
    } else {
      rest.push(lease)
    }
  }
  const unassigned: string[] = []
  // Running hosts' leases come last, so that what stays over is what nobody works on anyway.
  for (const lease of rest) {
    const { id } = lease
    const withRoom = [...room].filter(([, count]) => count > 0).map(([host]) => host)
    const host = withRoom.find((name) => refusals.mayHave(name, id))
    if (host !== undefined) place(id, host, placing)
    else if (!exchange(id, withRoom, placing) && !exceed(lease, placing)) unassigned.push(id)
  }
  return unassigned.sort()
}

function place(leaseId: string, host: string, { room, targets }: Placing): void {
  targets.set(leaseId, host)
  room.set(host, (room.get(host) ?? 0) - 1)
}

/** All that have room refuse it: a host that has none takes it, and gives one of its own to them. */
function exchange(leaseId: string, withRoom: readonly string[], placing: Placing): boolean {
  const { refusals, targets } = placing
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
function exceed(lease: PlannedLease, placing: Placing): boolean {
  const { takers, refusals, targets } = placing
  const counts = new Map<string, number>()
  for (const host of targets.values()) counts.set(host, (counts.get(host) ?? 0) + 1)
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
