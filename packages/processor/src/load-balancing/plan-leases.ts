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
 * share, free leases fill the others, and as few as possible move. Leaving hosts get nothing.
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
  const names = new Set(takers.map(({ host }) => host))
  const sorted = [...leases].sort((a, b) => (a.id < b.id ? -1 : 1))
  const { held, free } = groupByHolder(sorted, names)
  const shares = shareOut(
    takers.map(({ host, profile }) => ({
      weight: profile.weight,
      min: profile.minLeases,
      max: profile.maxLeases,
      current: held.get(host)?.length ?? 0,
    })),
    leases.length,
  )
  const room = new Map(takers.map(({ host }, index) => [host, shares[index] ?? 0]))
  const targets = new Map<string, string>()
  const moving: PlannedLease[] = []
  for (const { host } of takers) {
    const own = held.get(host) ?? []
    const kept = Math.min(own.length, room.get(host) ?? 0)
    for (const lease of own.slice(0, kept)) targets.set(lease.id, host)
    room.set(host, (room.get(host) ?? 0) - kept)
    moving.push(...own.slice(kept))
  }
  const unassigned = fill(free, moving, room, targets)
  return { targets, unassigned, moves: moving.length }
}

/**
 * A lease belongs to the host that the last plan gave it to, if that is still there, else to its
 * owner: a hand-over that is under way is not turned back by the next plan.
 */
function groupByHolder(
  leases: readonly PlannedLease[],
  names: ReadonlySet<string>,
): { held: Map<string, PlannedLease[]>; free: PlannedLease[] } {
  const held = new Map<string, PlannedLease[]>()
  const free: PlannedLease[] = []
  for (const lease of leases) {
    const holder = [lease.target, lease.owner].find((name) => name !== undefined && names.has(name))
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

/** Gives free leases, then moving ones, to the hosts with room; returns the ids that are left over. */
function fill(
  free: readonly PlannedLease[],
  moving: readonly PlannedLease[],
  room: Map<string, number>,
  targets: Map<string, string>,
): string[] {
  const rest: PlannedLease[] = []
  // A lease that is still in the hands of a host with room goes back to it: nothing moves.
  for (const lease of [...free, ...moving]) {
    const left = lease.owner === undefined ? 0 : (room.get(lease.owner) ?? 0)
    if (lease.owner !== undefined && left > 0) {
      targets.set(lease.id, lease.owner)
      room.set(lease.owner, left - 1)
    } else {
      rest.push(lease)
    }
  }
  const places: string[] = []
  for (const [host, count] of room) for (let n = 0; n < count; n += 1) places.push(host)
  // Running hosts' leases come last, so that what stays over is what nobody works on anyway.
  for (const [index, lease] of rest.entries()) {
    const host = places[index]
    if (host !== undefined) targets.set(lease.id, host)
  }
  return rest
    .slice(places.length)
    .map(({ id }) => id)
    .sort()
}
