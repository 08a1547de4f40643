import { deepStrictEqual } from 'node:assert/strict'
import {
  DIGEST_MODULUS,
  errorCode,
  FULL_RANGE,
  parseFeedRangeId,
  type HeldLease,
  type HostSession,
  type LeaseGroup,
  type NewLease,
  type SyncRequest,
} from '@tidemark/contracts'
import {
  acquireLeases,
  applyChanges,
  checkpointLeases,
  createLeases,
  discardLeases,
  newGroupState,
  overrideLeases,
  planGroup,
  readGroup,
  reconcileLeases,
  releaseLeases,
  replaceLeases,
  setGroupPaused,
  syncGroup,
  type LeaseGroupState,
  type LeaseGroupStep,
} from '@tidemark/processor'
import { cutRange, idsOf, newLeases } from './lease-store-fixtures.ts'
import {
  checkpointOf,
  STEP_LEASE_COUNT,
  type LeaseStep,
  type ReplacementStep,
  type StepWrite,
  type SyncStep,
} from './lease-steps.ts'

const FIRST_LEASE_IDS: readonly string[] = idsOf(newLeases(STEP_LEASE_COUNT))

/** What the calls of a sequence are told about time. */
export interface StepTime {
  /** The store's time, µs since the epoch. */
  nowUs(): number
  pass(us: number): void
}

/** A call that was made: `undefined` where there is none, as of time that passed. */
type Compared =
  { readonly model: () => unknown; readonly store: () => Promise<unknown> } | undefined

type Replacement = Pick<Parameters<LeaseGroup['replace']>[0], 'old' | 'next'>

/** The pure model beside a store's group: asked the same, it has to answer the same. */
export class ComparedLeaseGroup {
  readonly #time: StepTime
  readonly #last = new Map<ReplacementStep['kind'], Replacement>()
  #state: LeaseGroupState

  /** `generation` is the one of the new and empty group. */
  constructor(time: StepTime, generation: string) {
    this.#time = time
    this.#state = newGroupState(generation)
  }

  /** What the group has to be now. */
  get state(): LeaseGroupState {
    return this.#state
  }

  /** Throws an assertion error when the group's answer is not the model's. Resolves with the calls made, 0 or 1. */
  async run(step: LeaseStep, group: LeaseGroup): Promise<number> {
    const compared = this.#ask(step, group)
    if (compared === undefined) return 0
    // The model first, at the same store time: a step of the clock is a step of its own.
    const ours = await outcomeOf(compared.model)
    const theirs = await outcomeOf(compared.store)
    deepStrictEqual(comparable(theirs), comparable(ours))
    return 1
  }

  /** Throws an assertion error when the group's state is not the model's. */
  async compareState(group: LeaseGroup): Promise<void> {
    deepStrictEqual(comparable(await group.read()), comparable(readGroup(this.#state)))
  }

  #ask(step: LeaseStep, group: LeaseGroup): Compared {
    const state = this.#state
    const nowUs = this.#time.nowUs()
    const compare = <Reply>(
      model: () => LeaseGroupStep<Reply>,
      store: () => Promise<Reply>,
    ): Compared => ({ model: () => this.#apply(model()), store })
    switch (step.kind) {
      case 'pass':
        this.#time.pass(step.us)
        return undefined
      case 'read':
        return { model: () => readGroup(state), store: () => group.read() }
      case 'sync': {
        const request = this.#syncRequest(step)
        return compare(
          () => syncGroup(state, request, nowUs),
          () => group.sync(request),
        )
      }
      case 'create': {
        const leases = newSet(step)
        return compare(
          () => createLeases(state, leases, nowUs),
          () => group.create(leases),
        )
      }
      case 'plan': {
        const request = this.#plan(step)
        return compare(
          () => planGroup(state, request),
          () => group.plan(request),
        )
      }
      case 'setPaused':
        return compare(
          () => setGroupPaused(state, step.paused),
          () => group.setPaused(step.paused),
        )
      case 'discard':
        return compare(
          () => discardLeases(state, step.token),
          () => group.discard(step.token),
        )
      case 'replace':
      case 'override':
        return this.#askReplacement(step, group)
      case 'acquire':
      case 'checkpoint':
      case 'release':
      case 'reconcile':
        return this.#askOwner(step, group)
    }
  }

  #askOwner(
    step: LeaseStep & { kind: 'acquire' | 'checkpoint' | 'release' | 'reconcile' },
    group: LeaseGroup,
  ): Compared {
    const state = this.#state
    const { leases } = state
    const nowUs = this.#time.nowUs()
    const { who } = step
    switch (step.kind) {
      case 'acquire': {
        const request = { ...who, leaseIds: step.leases.map((index) => this.#leaseId(index)) }
        return {
          model: () => this.#apply(acquireLeases(state, request, nowUs)),
          store: () => group.acquire(request),
        }
      }
      case 'checkpoint': {
        const checkpoints = step.writes.flatMap(({ at, ...write }) =>
          at === undefined ? [] : [{ ...this.#held(write), checkpoint: checkpointOf(at) }],
        )
        const request = { ...who, checkpoints }
        return {
          model: () => this.#apply(checkpointLeases(leases, request, nowUs)),
          store: () => group.checkpoint(request),
        }
      }
      case 'release': {
        const releases = step.writes.map(({ at, ...write }) => ({
          ...this.#held(write),
          checkpoint: at && checkpointOf(at),
        }))
        const request = { ...who, releases }
        return {
          model: () => this.#apply(releaseLeases(leases, request, nowUs)),
          store: () => group.release(request),
        }
      }
      case 'reconcile': {
        const unique = new Map(step.writes.map((write) => [write.lease, write]))
        const held = [...unique.values()].map(({ at, ...write }) => ({
          ...this.#held(write),
          lsn: at?.lsn ?? 0,
        }))
        const request = { ...who, held }
        return {
          model: () => reconcileLeases(state, request),
          store: () => group.reconcile(request),
        }
      }
    }
  }

  #askReplacement(step: ReplacementStep, group: LeaseGroup): Compared {
    const state = this.#state
    const nowUs = this.#time.nowUs()
    const { kind, who } = step
    const request = (step.again ? this.#last.get(kind) : undefined) ?? this.#replacement(step)
    if (request === undefined) return undefined
    this.#last.set(kind, request)
    if (kind === 'override') {
      return {
        model: () => this.#apply(overrideLeases(state, request, nowUs)),
        store: () => group.override(request),
      }
    }
    return {
      model: () => this.#apply(replaceLeases(state, { ...who, ...request }, nowUs)),
      store: () => group.replace({ ...who, ...request }),
    }
  }

  #syncRequest({ kind: _kind, who, digestShift, ...step }: SyncStep): SyncRequest {
    const request = { ...who, ...step }
    if (digestShift === undefined) return request
    let [count, epochSum, lsnSum] = [0, 0, 0]
    for (const { owner, epoch, checkpoint } of this.#state.leases.values()) {
      if (owner?.host !== who.host || owner.incarnation !== who.incarnation) continue
      count += 1
      epochSum = (epochSum + (epoch % DIGEST_MODULUS)) % DIGEST_MODULUS
      lsnSum = (lsnSum + (checkpoint.lsn % DIGEST_MODULUS)) % DIGEST_MODULUS
    }
    return { ...request, held: { count, epochSum, lsnSum: lsnSum + digestShift } }
  }

  #plan({ lag, targets: hosts }: LeaseStep & { kind: 'plan' }): Parameters<LeaseGroup['plan']>[0] {
    const targets = new Map<string, string>()
    for (const [index, host] of hosts.entries()) {
      if (host !== '') targets.set(this.#leaseId(index), host)
    }
    return { membershipVersion: this.#state.head.membershipVersion - lag, targets }
  }

  /** Undefined when there are no leases at those places. */
  #replacement(step: ReplacementStep): Replacement | undefined {
    const inOrder = [...this.#state.leases.values()]
      .flatMap(({ id, epoch }) => {
        const range = parseFeedRangeId(id)
        return range === undefined ? [] : [{ leaseId: id, epoch, range }]
      })
      .toSorted((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
    const old = inOrder.slice(step.first, step.first + step.count)
    const [first] = old
    const last = old.at(-1)
    if (first === undefined || last === undefined) return undefined
    const { minInclusive } = first.range
    const { maxExclusive } = last.range
    const next = cutRange({ minInclusive, maxExclusive }, step.pieces).flatMap(
      (range, index): NewLease[] => {
        const at = step.at[index]
        return at === undefined ? [] : [{ range, checkpoint: checkpointOf(at) }]
      },
    )
    return {
      old: old.map(({ leaseId, epoch }) => ({ leaseId, epoch: epoch + step.epochShift })),
      next: step.leaky ? next.slice(1) : next,
    }
  }

  /** A lease of the present set by its place in it; beyond its end one that may not exist. */
  #leaseId(index: number): string {
    return [...this.#state.leases.keys()].toSorted()[index] ?? FIRST_LEASE_IDS[index] ?? 'AA-BB'
  }

  #held({ lease, epochShift }: Pick<StepWrite, 'lease' | 'epochShift'>): HeldLease {
    const leaseId = this.#leaseId(lease)
    return { leaseId, epoch: (this.#state.leases.get(leaseId)?.epoch ?? 0) + epochShift }
  }

  #apply<Reply>({ changes, reply }: LeaseGroupStep<Reply>): Reply {
    this.#state = applyChanges(this.#state, changes)
    return reply
  }
}

function newSet({ count, overlapping, at }: LeaseStep & { kind: 'create' }): readonly NewLease[] {
  const checkpoint = checkpointOf(at)
  const leases = newLeases(STEP_LEASE_COUNT)
    .slice(0, count)
    .map(({ range }) => ({ range, checkpoint }))
  return overlapping && count > 0 ? [...leases, { range: FULL_RANGE, checkpoint }] : leases
}

/** The answer, or the code of the error. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined) throw error
    return { rejectedWith: code }
  }
}

/** Without fields that are undefined, and with profiles that say their defaults. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const fields = comparableFields(value)
  if (!isSession(value)) return fields
  return { ...fields, profile: { standby: false, refuses: [], ...comparableFields(value.profile) } }
}

function comparableFields(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      field === undefined ? [] : [[name, comparable(field)]],
    ),
  )
}

function isSession(value: object): value is HostSession {
  return 'profile' in value && 'deadlineMs' in value
}
