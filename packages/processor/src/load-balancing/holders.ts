import type { HostProfile } from '@tidemark/contracts'

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
  /** What it costs its host, ms of work a second. Absent = not known. */
  readonly cost?: number | undefined
  /** Store time since which its owner has had it, epoch ms. @default for long */
  readonly sinceMs?: number | undefined
}

/** Those that may get leases, by name. */
export function takersOf(hosts: readonly PlannedHost[]): PlannedHost[] {
  return hosts.filter(({ profile }) => !profile.leaving).sort((a, b) => (a.host < b.host ? -1 : 1))
}

export function isOnStandby({ profile }: PlannedHost): boolean {
  return profile.standby ?? false
}

/** Which host works on which lease not at all. */
export class Refusals {
  readonly #ofHost: ReadonlyMap<string, ReadonlySet<string>>

  constructor(hosts: readonly PlannedHost[]) {
    this.#ofHost = new Map(hosts.map(({ host, profile }) => [host, new Set(profile.refuses)]))
  }

  isOfNone(host: string): boolean {
    return this.#ofHost.get(host)?.size === 0
  }

  /** Whether the host is one of those that may get leases, and does not refuse this one. */
  mayHave(host: string, leaseId: string): boolean {
    return this.#ofHost.get(host)?.has(leaseId) === false
  }
}

/**
 * A lease belongs to the host that the last plan gave it to, if that is still there, else to its
 * owner: a hand-over that is under way is not turned back by the next plan.
 */
export function groupByHolder<Lease extends PlannedLease>(
  leases: readonly Lease[],
  refusals: Refusals,
): { held: Map<string, Lease[]>; free: Lease[] } {
  const held = new Map<string, Lease[]>()
  const free: Lease[] = []
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

export function holderOf(
  { id, target, owner }: PlannedLease,
  refusals: Refusals,
): string | undefined {
  if (target !== undefined && refusals.mayHave(target, id)) return target
  return owner !== undefined && refusals.mayHave(owner, id) ? owner : undefined
}

/** How many leases are taken from a host that could have kept them. */
export function movesOf(
  leases: readonly PlannedLease[],
  targets: ReadonlyMap<string, string>,
  refusals: Refusals,
): number {
  return leases.filter((lease) => {
    const holder = holderOf(lease, refusals)
    return holder !== undefined && targets.get(lease.id) !== holder
  }).length
}
