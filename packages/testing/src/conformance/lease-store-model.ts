import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DIGEST_MODULUS,
  parseFeedRangeId,
  type HostIdentity,
  type HostProfile,
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
  planGroup,
  readGroup,
  reconcileLeases,
  releaseLeases,
  replaceLeases,
  syncGroup,
  type LeaseGroupState,
  type LeaseGroupStep,
} from '@tidemark/processor'
import {
  CAP_MS,
  cutRange,
  identity,
  idsOf,
  newLeases,
  position,
  PROFILE,
  TTL_MS,
  type StoreTime,
} from './lease-store-fixtures.ts'
import type { LeaseStoreSuite } from './lease-store.ts'

const LEASE_COUNT = 4
const LEASE_IDS: readonly string[] = [...idsOf(newLeases(LEASE_COUNT)), 'AA-BB']

/** An operation of the random sequence. What depends on the state is settled when it runs. */
type Step =
  | {
      kind: 'sync'
      who: HostIdentity
      intent: SyncRequest['intent']
      leaving: boolean
      digest: number
    }
  | { kind: 'create'; count: number; start: number }
  | { kind: 'plan'; lag: number; targets: readonly string[] }
  | { kind: 'acquire'; who: HostIdentity; leases: readonly number[] }
  | { kind: 'checkpoint' | 'release'; who: HostIdentity; writes: readonly Write[] }
  | { kind: 'reconcile'; who: HostIdentity; held: readonly Write[] }
  | Replacement
  | { kind: 'discard'; token: string }
  | { kind: 'pass'; ms: number }

/** `again`: the request of the last replacement once more, as after a lost answer. */
interface Replacement {
  readonly kind: 'replace'
  readonly who: HostIdentity
  readonly again: boolean
  /** The first of `count` neighbours, by their places in the present set. */
  readonly first: number
  readonly count: number
  readonly pieces: number
  readonly lsns: readonly number[]
  readonly epochShift: number
}

interface Write {
  readonly lease: number
  /** Added to the epoch that the lease has. */
  readonly epochShift: number
  readonly lsn: number | undefined
}

const who = fc.constantFrom(
  identity('a'),
  identity('a', 'a|2'),
  identity('b'),
  identity('h|ö "x"', 'c-1'),
)
const lease = fc.nat({ max: LEASE_COUNT })
const writes = fc.array(
  fc.record({
    lease,
    epochShift: fc.oneof(
      { weight: 8, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(-1, 1) },
    ),
    lsn: fc.option(fc.nat({ max: 6 }), { nil: undefined }),
  }),
  { maxLength: 4 },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('sync'),
      who,
      intent: fc.constantFrom('join', 'beat', 'beat', 'leave'),
      leaving: fc.boolean(),
      digest: fc.constantFrom(-1, 0, 0, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('create'),
      count: fc.constantFrom(LEASE_COUNT, LEASE_COUNT, 2, 0),
      start: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('plan'),
      lag: fc.constantFrom(0, 0, 0, 0, 1, -1),
      targets: fc.array(fc.constantFrom('a', 'b', 'h|ö "x"', ''), {
        minLength: LEASE_IDS.length,
        maxLength: LEASE_IDS.length,
      }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('acquire'),
      who,
      leases: fc.array(lease, { maxLength: 5 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('checkpoint'), who, writes }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('release'), who, writes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reconcile'), who, held: writes }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('replace'),
      who,
      again: fc.constantFrom(false, false, true),
      first: fc.nat({ max: 5 }),
      count: fc.constantFrom(1, 1, 2, 3),
      pieces: fc.constantFrom(1, 2, 2, 3),
      lsns: fc.array(fc.nat({ max: 9 }), { minLength: 3, maxLength: 3 }),
      epochShift: fc.constantFrom(0, 0, 0, 0, 0, -1, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('discard'), token: fc.constantFrom('x', 'y') }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass'),
      ms: fc.constantFrom(1, 500, CAP_MS, TTL_MS, -700),
    }),
  },
)

export function describeModel(suite: LeaseStoreSuite): void {
  describe('model', () => {
    test('random sequences answer as the pure model does, and leave the same state', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 45 }), async (steps) => {
          const { one, two } = await suite.group()
          const { generation } = await one.read()
          const compared = new ComparedGroup(suite.time(), generation)
          for (const [index, next] of steps.entries()) {
            // Two hosts' handles in turn: what one remembers must not mislead it.
            await compared.run(next, index % 3 === 0 ? two : one)
          }
        }),
        { numRuns: suite.options.modelRuns ?? 50 },
      )
    }, 120_000)
  })
}

/** The model beside the store, asked the same. */
class ComparedGroup {
  readonly #time: StoreTime
  #state: LeaseGroupState
  #lastReplacement: Parameters<LeaseGroup['replace']>[0] | undefined

  constructor(time: StoreTime, generation: string) {
    this.#time = time
    this.#state = newGroupState(generation)
  }

  async run(next: Step, group: LeaseGroup): Promise<void> {
    if (next.kind === 'pass') {
      // A store that never lets its clock go back (ours) and one that does (Redis) agree only
      // while it rises; setting it back has cases of its own.
      this.#time.advance(Math.abs(next.ms))
      return
    }
    const [ours, theirs] = await this.#ask(next, group)
    expect(theirs).toEqual(ours)
    expect(await group.read()).toEqual(readGroup(this.#state))
  }

  async #ask(
    next: Exclude<Step, { kind: 'pass' }>,
    group: LeaseGroup,
  ): Promise<[unknown, unknown]> {
    const state = this.#state
    const nowUs = this.#time.wallMs() * 1000
    switch (next.kind) {
      case 'sync': {
        const request = this.#syncRequest(next)
        return [this.#apply(syncGroup(state, request, nowUs)), await group.sync(request)]
      }
      case 'create': {
        const leases = newLeases(LEASE_COUNT, next.start).slice(0, next.count)
        return [this.#apply(createLeases(state, leases, nowUs)), await group.create(leases)]
      }
      case 'plan': {
        const membershipVersion = state.head.membershipVersion - next.lag
        const targets = new Map<string, string>()
        for (const [index, host] of next.targets.entries()) {
          if (host !== '') targets.set(this.#leaseId(index), host)
        }
        const request = { membershipVersion, targets }
        return [this.#apply(planGroup(state, request)), await group.plan(request)]
      }
      case 'acquire': {
        const leaseIds = next.leases.map((index) => this.#leaseId(index))
        const request = { ...next.who, leaseIds }
        return [this.#apply(acquireLeases(state, request, nowUs)), await group.acquire(request)]
      }
      case 'checkpoint': {
        const checkpoints = next.writes.map(({ lsn = 0, ...write }) => ({
          ...this.#held(write),
          checkpoint: position(lsn),
        }))
        const request = { ...next.who, checkpoints }
        const ours = this.#apply(checkpointLeases(state.leases, request, nowUs))
        return [ours, await group.checkpoint(request)]
      }
      case 'release': {
        const releases = next.writes.map(({ lsn, ...write }) => ({
          ...this.#held(write),
          checkpoint: lsn === undefined ? undefined : position(lsn),
        }))
        const request = { ...next.who, releases }
        const ours = this.#apply(releaseLeases(state.leases, request, nowUs))
        return [ours, await group.release(request)]
      }
      case 'reconcile': {
        const unique = new Map(next.held.map((write) => [write.lease, write]))
        const held = [...unique.values()].map(({ lsn = 0, ...write }) => ({
          ...this.#held(write),
          lsn,
        }))
        const request = { ...next.who, held }
        return [reconcileLeases(state, request), await group.reconcile(request)]
      }
      case 'replace': {
        const request = this.#replacement(next)
        if (request === undefined) return [undefined, undefined]
        this.#lastReplacement = request
        return [this.#apply(replaceLeases(state, request, nowUs)), await group.replace(request)]
      }
      case 'discard':
        return [this.#apply(discardLeases(state, next.token)), await group.discard(next.token)]
    }
  }

  #syncRequest({ who: host, intent, leaving, digest }: Step & { kind: 'sync' }): SyncRequest {
    const profile: HostProfile = { ...PROFILE, leaving, maxLeases: leaving ? 3 : Infinity }
    const request = { ...host, intent, profile, ttlMs: TTL_MS, clockCapMs: CAP_MS }
    if (digest < 0) return request
    let [count, epochSum, lsnSum] = [0, 0, 0]
    for (const { owner, epoch, checkpoint } of this.#state.leases.values()) {
      if (owner?.host !== host.host || owner.incarnation !== host.incarnation) continue
      count += 1
      epochSum = (epochSum + (epoch % DIGEST_MODULUS)) % DIGEST_MODULUS
      lsnSum = (lsnSum + (checkpoint.lsn % DIGEST_MODULUS)) % DIGEST_MODULUS
    }
    return { ...request, held: { count, epochSum, lsnSum: lsnSum + digest } }
  }

  /** A lease of the present set by its place in it; beyond its end one that may not exist. */
  #leaseId(index: number): string {
    return [...this.#state.leases.keys()].toSorted()[index] ?? LEASE_IDS[index] ?? 'AA-BB'
  }

  #replacement(next: Replacement): Parameters<LeaseGroup['replace']>[0] | undefined {
    if (next.again && this.#lastReplacement !== undefined) return this.#lastReplacement
    const inOrder = [...this.#state.leases.values()]
      .flatMap(({ id, epoch }) => {
        const range = parseFeedRangeId(id)
        return range === undefined ? [] : [{ leaseId: id, epoch, range }]
      })
      .toSorted((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
    const old = inOrder.slice(next.first, next.first + next.count)
    const [first] = old
    const last = old.at(-1)
    if (first === undefined || last === undefined) return undefined
    const { minInclusive } = first.range
    const { maxExclusive } = last.range
    const leases = cutRange({ minInclusive, maxExclusive }, next.pieces).map(
      (range, index): NewLease => ({ range, checkpoint: position(next.lsns[index] ?? 0) }),
    )
    const shifted = old.map(({ leaseId, epoch }) => ({ leaseId, epoch: epoch + next.epochShift }))
    return { ...next.who, old: shifted, next: leases }
  }

  #held({ lease: index, epochShift }: Pick<Write, 'lease' | 'epochShift'>): {
    leaseId: string
    epoch: number
  } {
    const leaseId = this.#leaseId(index)
    return { leaseId, epoch: (this.#state.leases.get(leaseId)?.epoch ?? 0) + epochShift }
  }

  #apply<Reply>({ changes, reply }: LeaseGroupStep<Reply>): Reply {
    this.#state = applyChanges(this.#state, changes)
    return reply
  }
}
