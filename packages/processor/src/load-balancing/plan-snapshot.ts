import type { HostSession, LeaseGroupSnapshot } from '@tidemark/contracts'
import { loadKey, parseLoads, type ToldLoads } from './lease-loads.ts'
import { planByLoad } from './plan-by-load.ts'
import { planLeases, type LeasePlan } from './plan-leases.ts'
import type { PlannedLease } from './holders.ts'

/** A lease that its owner has had for longer is in what that one tells, be it without its name. */
const TOLD_AFTER_MS = 30_000

export interface GroupPlan extends LeasePlan {
  readonly by: 'count' | 'load'
}

/**
 * The plan for a group as it was read: by load if all hosts that stay want that, and the cost of half of the leases is known;
 * else by count. So while hosts differ, as when they are replaced one after the other, none of them works against another.
 *
 * What it needs to know of the past is in the leases: an epoch is the store's time at which the owner got the lease.
 */
export function planSnapshot(snapshot: LeaseGroupSnapshot): GroupPlan {
  const { hosts } = snapshot
  // Of a paused group the store keeps an empty plan, whatever is proposed.
  if (snapshot.paused) return { targets: new Map(), unassigned: [], moves: 0, by: 'count' }
  const nowMs = storeTimeOf(snapshot)
  const leases = plannedLeases(snapshot, balancesByLoad(hosts) ? nowMs : undefined)
  const known = leases.filter(({ cost }) => cost !== undefined)
  if (known.length === 0 || 2 * known.length < leases.length) {
    return { ...planLeases(hosts, leases), by: 'count' }
  }
  return { ...planByLoad(hosts, leases, nowMs), by: 'load' }
}

/**
 * Store time at which all owners had told what their leases cost. The earliest, for a lease that nobody has changed since the
 * store's clock was set back has a time to come.
 */
function storeTimeOf({ hosts, leases }: LeaseGroupSnapshot): number {
  const present = new Set(hosts.map(({ host, incarnation }) => `${incarnation} ${host}`))
  return leases.reduce((earliest, { owner, timestampMs }) => {
    const isOwned = owner !== undefined && present.has(`${owner.incarnation} ${owner.host}`)
    return isOwned ? Math.min(earliest, timestampMs) : earliest
  }, Infinity)
}

/** Whether hosts agree to share out what leases cost. */
export function balancesByLoad(hosts: readonly Pick<HostSession, 'profile'>[]): boolean {
  const staying = hosts.filter(({ profile }) => !profile.leaving)
  return staying.length > 0 && staying.every(({ profile }) => profile.balanceBy === 'load')
}

/** With what they cost at `nowMs`; without a time, nothing is known of that. */
function plannedLeases(
  { hosts, leases }: LeaseGroupSnapshot,
  nowMs: number | undefined,
): readonly PlannedLease[] {
  const told = new Map(
    hosts.flatMap(({ host, incarnation, profile: { load } }): [string, ToldLoads][] =>
      load === undefined || nowMs === undefined
        ? []
        : [[`${incarnation} ${host}`, parseLoads(load)]],
    ),
  )
  return leases.map(({ id, owner, target, epoch }) => {
    const sinceMs = Math.floor(epoch / 1000)
    const { named, restCost } = told.get(`${owner?.incarnation} ${owner?.host}`) ?? {}
    const isInRest = nowMs !== undefined && sinceMs + TOLD_AFTER_MS <= nowMs
    const cost = named?.get(loadKey(id)) ?? (isInRest ? restCost : undefined)
    return { id, owner: owner?.host, target, sinceMs, cost }
  })
}
