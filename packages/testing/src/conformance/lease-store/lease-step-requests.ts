import {
  DIGEST_MODULUS,
  FULL_RANGE,
  parseFeedRangeId,
  type CheckpointRequest,
  type HeldLease,
  type HostIdentity,
  type LeaseGroup,
  type NewLease,
  type PlanRequest,
  type ReleaseRequest,
  type SyncRequest,
} from '@tidemark/contracts'
import type { LeaseGroupState } from '@tidemark/processor/lease-model'
import { cutRange, idsOf, newLeases } from './fixtures.ts'
import {
  checkpointOf,
  STEP_LEASE_COUNT,
  type AcquireStep,
  type LeaseStep,
  type OwnerStep,
  type ReplacementStep,
  type StepCaller,
  type StepWrite,
  type SyncStep,
} from './lease-steps.ts'

const FIRST_LEASE_IDS: readonly string[] = idsOf(newLeases(STEP_LEASE_COUNT))

export type ReplaceStepRequest = Parameters<LeaseGroup['replace']>[0]

/** Makes requests of steps, as the state is at which they run. */
export class LeaseStepRequests {
  readonly #state: LeaseGroupState

  constructor(state: LeaseGroupState) {
    this.#state = state
  }

  sync({ kind: _kind, who, observed, digestShift, ...step }: SyncStep, nowMs: number): SyncRequest {
    const caller = step.intent === 'join' ? identityOf(who) : this.#member(who)
    const { clockMs, sessions } = this.#state.head
    const request = {
      ...step,
      ...caller,
      observed: observed && {
        clockMs: clockMs - observed.clockBehindMs,
        storeMs: (sessions.get(caller.host)?.beatMs ?? nowMs) - observed.beatBehindMs,
        elapsedMs: observed.elapsedMs,
      },
    }
    if (digestShift === undefined) return request
    let [count, epochSum, lsnSum] = [0, 0, 0]
    for (const { owner, epoch, checkpoint } of this.#state.leases.values()) {
      if (owner?.host !== caller.host || owner.incarnation !== caller.incarnation) continue
      count += 1
      epochSum = (epochSum + (epoch % DIGEST_MODULUS)) % DIGEST_MODULUS
      lsnSum = (lsnSum + (checkpoint.lsn % DIGEST_MODULUS)) % DIGEST_MODULUS
    }
    return { ...request, held: { count, epochSum, lsnSum: lsnSum + digestShift } }
  }

  create({ count, overlapping, at }: LeaseStep & { kind: 'create' }): readonly NewLease[] {
    const checkpoint = checkpointOf(at)
    const leases = newLeases(STEP_LEASE_COUNT)
      .slice(0, count)
      .map(({ range }) => ({ range, checkpoint }))
    return overlapping && count > 0 ? [...leases, { range: FULL_RANGE, checkpoint }] : leases
  }

  plan({ lag, targets: hosts, rebalances }: LeaseStep & { kind: 'plan' }): PlanRequest {
    const targets = new Map<string, string>()
    for (const [index, host] of hosts.entries()) {
      if (host !== '') targets.set(this.#leaseId(index), host)
    }
    return { membershipVersion: this.#state.head.membershipVersion - lag, targets, rebalances }
  }

  acquire(step: AcquireStep): Parameters<LeaseGroup['acquire']>[0] {
    const leaseIds = step.leases.map((index) => this.#leaseId(index))
    return { ...this.#planned(step.who, leaseIds), leaseIds }
  }

  checkpoint({ who, writes }: OwnerStep): Parameters<LeaseGroup['checkpoint']>[0] {
    const checkpoints = writes.flatMap(({ at, ...write }): readonly CheckpointRequest[] =>
      at === undefined ? [] : [{ ...this.#held(write), checkpoint: checkpointOf(at) }],
    )
    return { ...this.#owner(who, checkpoints), checkpoints }
  }

  release({ who, writes, raisedBy }: OwnerStep): Parameters<LeaseGroup['release']>[0] {
    const releases = writes.map(({ at, ...write }): ReleaseRequest => {
      const held = this.#held(write)
      const aboveEpoch = raisedBy === undefined ? undefined : Math.max(0, held.epoch + raisedBy)
      return { ...held, checkpoint: at && checkpointOf(at), aboveEpoch }
    })
    return { ...this.#owner(who, releases), releases }
  }

  reconcile({ who, writes }: OwnerStep): Parameters<LeaseGroup['reconcile']>[0] {
    const unique = new Map(writes.map((write) => [write.lease, write]))
    const held = [...unique.values()].map(({ at, ...write }) => ({
      ...this.#held(write),
      lsn: at?.lsn ?? 0,
    }))
    return { ...this.#owner(who, held), held }
  }

  /** Undefined when there is no lease at that place. */
  replace(step: ReplacementStep): ReplaceStepRequest | undefined {
    const neighbours = this.#inOrder().slice(step.first, step.first + step.count)
    const caller = this.#owner(step.who, neighbours)
    const ownsAll = step.kind === 'replace' && step.who.entitled
    const old = ownsAll
      ? neighbours.filter(({ leaseId }, index) => index === 0 || this.#isOwner(caller, leaseId))
      : neighbours
    const [first] = old
    const last = old.at(-1)
    if (first === undefined || last === undefined) return undefined
    const { minInclusive } = first.range
    const { maxExclusive } = last.range
    const next = cutRange({ minInclusive, maxExclusive }, step.pieces).flatMap(
      (range, index): readonly NewLease[] => {
        const at = step.at[index]
        return at === undefined ? [] : [{ range, checkpoint: checkpointOf(at) }]
      },
    )
    return {
      ...caller,
      old: old.map(({ leaseId, epoch }) => ({ leaseId, epoch: epoch + step.epochShift })),
      next: step.leaky ? next.slice(1) : next,
    }
  }

  #inOrder(): readonly (HeldLease & { readonly range: NewLease['range'] })[] {
    return [...this.#state.leases.values()]
      .flatMap(({ id, epoch }) => {
        const range = parseFeedRangeId(id)
        return range === undefined ? [] : [{ leaseId: id, epoch, range }]
      })
      .toSorted((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
  }

  /** A lease of the present set by its place in it; beyond its end one that may not exist. */
  #leaseId(index: number): string {
    return [...this.#state.leases.keys()].toSorted()[index] ?? FIRST_LEASE_IDS[index] ?? 'AA-BB'
  }

  #held({ lease, epochShift }: Pick<StepWrite, 'lease' | 'epochShift'>): HeldLease {
    const leaseId = this.#leaseId(lease)
    return { leaseId, epoch: (this.#state.leases.get(leaseId)?.epoch ?? 0) + epochShift }
  }

  /** The present incarnation of the host. */
  #member(caller: StepCaller): HostIdentity {
    const session = this.#state.head.sessions.get(caller.host)
    return identityOf(caller.entitled && session !== undefined ? session : caller)
  }

  /** The host that the plan gives the first of the leases that it gives to anybody. */
  #planned(caller: StepCaller, leaseIds: readonly string[]): HostIdentity {
    const targets = leaseIds.flatMap((leaseId) => this.#state.targets.get(leaseId) ?? [])
    const [host = caller.host] = caller.entitled ? targets : []
    return this.#member({ ...caller, host })
  }

  /** Of the first of the leases that anybody owns. */
  #owner(caller: StepCaller, leases: readonly Pick<HeldLease, 'leaseId'>[]): HostIdentity {
    const owners = leases.flatMap(({ leaseId }) => this.#state.leases.get(leaseId)?.owner ?? [])
    const [owner = caller] = caller.entitled ? owners : []
    return identityOf(owner)
  }

  #isOwner({ host, incarnation }: HostIdentity, leaseId: string): boolean {
    const owner = this.#state.leases.get(leaseId)?.owner
    return owner?.host === host && owner.incarnation === incarnation
  }
}

function identityOf({ host, incarnation }: HostIdentity): HostIdentity {
  return { host, incarnation }
}
