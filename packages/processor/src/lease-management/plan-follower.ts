import {
  feedRangeId,
  type FeedRange,
  type Lease,
  type LeaseGroupSnapshot,
} from '@tidemark/contracts'
import { wantedLeasesPerRange } from '../load-balancing/leases-per-range.ts'
import { balancesByLoad } from '../load-balancing/plan-snapshot.ts'
import type { LeasePlan } from '../load-balancing/plan-leases.ts'
import type { EffectSink } from './lease-protocol.ts'

/** Joins come in bursts: one plan for all of them. The jitter lets one host be first. */
const PLAN_DEBOUNCE_MS = 50

/** Between two looks whether loads differ, by the one host that looks. */
const ROUND_MS = 15_000

/** What a host knows of its group without asking. */
export interface KnownGroup {
  /** Leases that each pkrange is to have. */
  readonly leasesPerRange: number
  /** Empty as long as nothing was read. */
  readonly leases: readonly FeedRange[]
}

/** A plan that this host made and wants to store. */
export interface PlanProposal {
  readonly plan: LeasePlan
  readonly snapshot: LeaseGroupSnapshot
  /** It takes the place of a plan that is current. */
  readonly rebalances: boolean
}

interface AppliedPlan {
  readonly membershipVersion: number
  readonly planVersion: number
  readonly targets: ReadonlyMap<string, string>
  readonly hosts: number
  readonly leases: number
}

/** What this host knows of the group's plan, and what is to be done about it. */
export class PlanFollower {
  readonly #host: string
  readonly #effects: EffectSink
  #targets: ReadonlyMap<string, string> = new Map()
  #mine: ReadonlySet<string> = new Set()
  #appliedVersion = -1
  /** When to plan; Infinity while the stored plan is current. */
  planDueMs: number = Infinity
  /** When to look whether loads differ; Infinity while that is another host's to do, or nobody's. */
  roundDueMs: number = Infinity
  needsRead = false
  /** Whether this host does what one host does for all: the first by name of those that stay, as the last read had them. */
  isFirst = false
  group: KnownGroup = { leasesPerRange: 1, leases: [] }
  unowned: readonly string[] = []

  constructor(host: string, effects: EffectSink) {
    this.#host = host
    this.#effects = effects
  }

  /** Leases that this host is to own. */
  get mine(): ReadonlySet<string> {
    return this.#mine
  }

  targetOf(leaseId: string): string | undefined {
    return this.#targets.get(leaseId)
  }

  /** A heartbeat told the versions. */
  versionsSeen(
    { membershipVersion, planVersion }: { membershipVersion: number; planVersion: number },
    { nowMs, jitter }: { nowMs: number; jitter: number },
  ): void {
    if (planVersion < membershipVersion) this.planSoon(nowMs, jitter)
    else if (planVersion !== this.#appliedVersion) this.needsRead = true
  }

  /** Plans a little later, unless that is to happen already. */
  planSoon(nowMs: number, jitter: number): void {
    this.planDueMs = Math.min(this.planDueMs, nowMs + PLAN_DEBOUNCE_MS * (1 + jitter))
  }

  /** Follows the plan that the store has, current or not. */
  applySnapshot(snapshot: LeaseGroupSnapshot, nowMs: number): void {
    const { membershipVersion, planVersion, hosts, leases } = snapshot
    this.group = {
      leasesPerRange: wantedLeasesPerRange(hosts),
      leases: leases.map(({ range }) => range),
    }
    const targets = new Map<string, string>()
    const unowned: string[] = []
    for (const { id, target } of leases) {
      if (target === undefined) unowned.push(id)
      else targets.set(id, target)
    }
    this.isFirst = hosts.every(({ host, profile }) => profile.leaving || this.#host <= host)
    this.roundDueMs = this.#looksAtLoads(snapshot) ? nowMs + ROUND_MS : Infinity
    const isCurrent = planVersion >= membershipVersion
    if (isCurrent) this.planDueMs = Infinity
    this.#apply({
      membershipVersion,
      planVersion,
      targets,
      hosts: hosts.length,
      leases: leases.length,
    })
    if (isCurrent) this.#setUnowned(unowned, snapshot)
  }

  /** Follows the plan that this host has made and stored. */
  applyOwn({ plan, snapshot, rebalances }: PlanProposal): void {
    const { hosts, leases } = snapshot
    const membershipVersion = snapshot.membershipVersion + (rebalances ? 1 : 0)
    this.planDueMs = Infinity
    this.#apply({
      membershipVersion,
      planVersion: membershipVersion,
      targets: plan.targets,
      hosts: hosts.length,
      leases: leases.length,
    })
    this.#setUnowned(plan.unassigned, snapshot)
  }

  /** Leases replaced others: until the next plan, the store keeps what it was for them. */
  replaced(oldIds: readonly string[], next: readonly Lease[]): void {
    const targets = new Map(this.#targets)
    for (const id of oldIds) targets.delete(id)
    for (const { id, target } of next) if (target !== undefined) targets.set(id, target)
    this.#follow(targets)
    const old = new Set(oldIds)
    const kept = this.group.leases.filter((range) => !old.has(feedRangeId(range)))
    this.group = { ...this.group, leases: [...kept, ...next.map(({ range }) => range)] }
  }

  /** The session is over: whatever the next one reads is news. */
  forget(): void {
    this.#targets = new Map()
    this.#mine = new Set()
    this.#appliedVersion = -1
    this.planDueMs = Infinity
    this.roundDueMs = Infinity
    this.needsRead = false
  }

  #looksAtLoads({ hosts, paused }: LeaseGroupSnapshot): boolean {
    return this.isFirst && !paused && hosts.length > 1 && balancesByLoad(hosts)
  }

  #apply({ membershipVersion, planVersion, targets, hosts, leases }: AppliedPlan): void {
    const isNews = planVersion > this.#appliedVersion
    this.#follow(targets)
    this.#appliedVersion = planVersion
    if (!isNews || planVersion === 0) return
    const mine = this.#mine.size
    this.#effects.push({
      kind: 'emit',
      notice: { kind: 'rebalanced', membershipVersion, hosts, leases, mine },
    })
  }

  #follow(targets: ReadonlyMap<string, string>): void {
    this.#targets = targets
    this.#mine = new Set([...targets].filter(([, host]) => host === this.#host).map(([id]) => id))
  }

  /** Of a paused group nobody is to have a lease: none is missed. */
  #setUnowned(all: readonly string[], { paused }: LeaseGroupSnapshot): void {
    const leaseIds = paused ? [] : all
    const same =
      leaseIds.length === this.unowned.length &&
      leaseIds.every((id, index) => id === this.unowned[index])
    if (same) return
    this.unowned = leaseIds
    this.#effects.push({ kind: 'emit', notice: { kind: 'unowned', leaseIds } })
  }
}
