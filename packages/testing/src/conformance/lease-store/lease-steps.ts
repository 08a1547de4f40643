import {
  FULL_RANGE,
  lsn,
  type BatchAttempts,
  type Checkpoint,
  type FeedRange,
  type GroupFeed,
  type HostIdentity,
  type HostProfile,
  type SyncRequest,
} from '@tidemark/contracts'
import fc from 'fast-check'
import { CAP_MS, continuationOf, identity, newLeases, PROFILE, TTL_MS } from './fixtures.ts'

/** Leases that a random sequence begins with. */
export const STEP_LEASE_COUNT = 4

/** Who calls. Sequences of calls of hosts that have nothing to say would show little. */
export interface StepCaller extends HostIdentity {
  /** True: whoever has what the call is about, if anybody has: the owner, the session, the plan's target. */
  readonly entitled: boolean
}

/** One call of a random sequence, or time that passes. What depends on the state is settled when it runs. */
export type LeaseStep =
  | SyncStep
  | {
      readonly kind: 'create'
      readonly count: number
      readonly overlapping: boolean
      readonly at: StepPosition
    }
  | { readonly kind: 'read' }
  | {
      readonly kind: 'plan'
      /** How far the membership version is behind that of the group. */
      readonly lag: number
      /** Hosts by the leases' places; `''` = not named. */
      readonly targets: readonly string[]
      readonly rebalances?: boolean | undefined
    }
  | AcquireStep
  | OwnerStep
  | ReplacementStep
  | { readonly kind: 'setPaused'; readonly paused: boolean }
  | { readonly kind: 'claimFeed'; readonly feed: GroupFeed; readonly insteadOf: string | undefined }
  | { readonly kind: 'discard'; readonly token: string }
  | {
      readonly kind: 'declareLost'
      readonly keys: readonly FeedRange[]
      readonly generation: string
    }
  | { readonly kind: 'pass'; readonly us: number }

export interface SyncStep {
  readonly kind: 'sync'
  readonly who: StepCaller
  readonly intent: SyncRequest['intent']
  readonly profile: HostProfile
  readonly ttlMs: number
  readonly clockCapMs: number
  readonly observed: StepObserved | undefined
  readonly gone?: readonly HostIdentity[] | undefined
  /** None: no digest is sent. Else added to the right sum of LSNs. */
  readonly digestShift: number | undefined
  readonly keys?: readonly FeedRange[] | undefined
}

/** What the caller saw of the clocks, counted back from what the lease clock shows now and from when it beat last. */
export interface StepObserved {
  readonly clockBehindMs: number
  readonly beatBehindMs: number
  readonly elapsedMs: number
}

export interface AcquireStep {
  readonly kind: 'acquire'
  readonly who: StepCaller
  /** By their places in the present set. */
  readonly leases: readonly number[]
}

/** What only an owner may do with its leases. */
export interface OwnerStep {
  readonly kind: 'checkpoint' | 'release' | 'reconcile'
  readonly who: StepCaller
  readonly writes: readonly StepWrite[]
  /** Of `release`: added to the epoch of each lease it is the one that a sink has seen. None: no sink has seen one. */
  readonly raisedBy?: number | undefined
}

/** `again`: the request of the last one of its kind once more, as after a lost answer. */
export interface ReplacementStep {
  readonly kind: 'replace' | 'override'
  /** Of `replace`. */
  readonly who: StepCaller
  readonly again: boolean
  /** The first of `count` neighbours, by their places in the present set. */
  readonly first: number
  readonly count: number
  readonly pieces: number
  /** True: one piece is left out, so that the request is refused. */
  readonly leaky: boolean
  readonly at: readonly StepPosition[]
  readonly epochShift: number
}

export interface StepWrite {
  /** The lease's place in the present set. */
  readonly lease: number
  /** Added to the epoch that the lease has. */
  readonly epochShift: number
  /** None: a release without a checkpoint. */
  readonly at: StepPosition | undefined
}

/** A position to store, as a step has it. */
export interface StepPosition {
  readonly lsn: number
  readonly text: string
  readonly attempts: BatchAttempts | undefined
}

export function checkpointOf({ lsn: value, text, attempts }: StepPosition): Checkpoint {
  const position = { continuation: continuationOf(text), lsn: lsn(value) }
  return attempts === undefined ? position : { ...position, attempts }
}

/** Names that look like parts of what a store may put together of them. */
const host: fc.Arbitrary<HostIdentity> = fc.constantFrom(
  identity('a'),
  identity('a'),
  identity('a', 'a|2'),
  identity('b'),
  identity('b'),
  // What is stored of it ends as what is stored of host b.
  identity('a|b-1|b', 'x-1'),
  identity('h|ö "x"', 'c-1'),
)
const who: fc.Arbitrary<StepCaller> = fc
  .tuple(host, fc.constantFrom(true, true, true, false))
  .map(([caller, entitled]) => ({ ...caller, entitled }))
const HOSTS = ['a', 'a', 'b', 'b', 'h|ö "x"', 'a|b-1|b', '']

const profile: fc.Arbitrary<HostProfile> = fc.constantFrom(
  PROFILE,
  PROFILE,
  PROFILE,
  // The same by other words.
  { ...PROFILE, standby: false, refuses: [] },
  { ...PROFILE, leaving: true, maxLeases: 3 },
  { ...PROFILE, standby: true },
  { ...PROFILE, refuses: ['-FF'] },
  { ...PROFILE, weight: 0.5, refuses: ['-80', '80-FF'] },
  { ...PROFILE, leasesPerRange: 1 },
  { ...PROFILE, leasesPerRange: 4 },
  { ...PROFILE, presence: 'boot/1' },
  { ...PROFILE, presence: 'boot/2' },
  { ...PROFILE, balanceBy: 'count', load: '' },
  { ...PROFILE, balanceBy: 'load' },
  { ...PROFILE, balanceBy: 'load', load: '0.1 1b=2' },
  { ...PROFILE, balanceBy: 'load', load: '7' },
)

const TEXTS = ['next', '', '1|2|3|x', '\u0001', '\u00011,2\u0001x', 'two\nlines', '"ü" \u{1f30a}']

const at: fc.Arbitrary<StepPosition> = fc.record({
  lsn: fc.oneof(
    { weight: 12, arbitrary: fc.nat({ max: 6 }) },
    { weight: 1, arbitrary: fc.constantFrom(2 ** 31, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER) },
  ),
  text: fc.constantFrom(...TEXTS),
  attempts: fc.option(
    fc.record(
      {
        count: fc.constantFrom(1, 2, 17),
        size: fc.constantFrom(0, 1, 100),
        first: fc.constantFrom('0000000000000007-0a', '', ',\u0001%', '"ü" \u{1f30a}'),
      },
      { requiredKeys: ['count', 'size'] },
    ),
    { nil: undefined },
  ),
})

const lease = fc.nat({ max: STEP_LEASE_COUNT })
const epochShift = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(-1, 1) },
)
const writes: fc.Arbitrary<readonly StepWrite[]> = fc.array(
  fc.record({ lease, epochShift, at: fc.option(at, { nil: undefined }) }),
  { maxLength: 4 },
)

/** All keys; those of the first two leases; these with a hole; more than anybody has. */
const LOSS_KEYS: readonly (readonly FeedRange[])[] = [
  [FULL_RANGE],
  [FULL_RANGE],
  [{ minInclusive: '', maxExclusive: cutAfter(2) }],
  [
    { minInclusive: '', maxExclusive: cutAfter(1) },
    { minInclusive: cutAfter(2), maxExclusive: 'FF' },
  ],
]

/** Where so many of the first leases end. */
function cutAfter(leases: number): string {
  return newLeases(STEP_LEASE_COUNT)[leases - 1]?.range.maxExclusive ?? 'FF'
}

const sync: fc.Arbitrary<LeaseStep> = fc.record({
  kind: fc.constant('sync'),
  who,
  intent: fc.constantFrom('join', 'join', 'join', 'beat', 'beat', 'beat', 'beat', 'leave'),
  profile,
  ttlMs: fc.constantFrom(TTL_MS, TTL_MS, TTL_MS, TTL_MS, TTL_MS, 300),
  clockCapMs: fc.constantFrom(CAP_MS, CAP_MS, CAP_MS, 50),
  observed: fc.option(
    fc.record({
      clockBehindMs: fc.constantFrom(0, 0, 0, 500, CAP_MS, TTL_MS, -1),
      beatBehindMs: fc.constantFrom(0, 0, 0, 0, 1, 500, -700),
      elapsedMs: fc.constantFrom(0, 0, 500, 501, CAP_MS, CAP_MS, CAP_MS + 3, 3_600_000),
    }),
    { nil: undefined, freq: 4 },
  ),
  gone: fc.option(fc.array(host, { maxLength: 3 }), { nil: undefined, freq: 2 }),
  digestShift: fc.constantFrom(undefined, 0, 0, 1),
  keys: fc.constantFrom(undefined, undefined, ...LOSS_KEYS),
})

const create: fc.Arbitrary<LeaseStep> = fc.record({
  kind: fc.constant('create'),
  count: fc.constantFrom(STEP_LEASE_COUNT, STEP_LEASE_COUNT, STEP_LEASE_COUNT, 2, 0),
  overlapping: fc.constantFrom(false, false, false, false, false, false, false, true),
  at,
})

const plan: fc.Arbitrary<LeaseStep> = fc.record({
  kind: fc.constant('plan'),
  lag: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, -1),
  rebalances: fc.constantFrom(undefined, undefined, true, false),
  targets: fc.oneof(
    fc.array(fc.constantFrom(...HOSTS), {
      minLength: STEP_LEASE_COUNT + 1,
      maxLength: STEP_LEASE_COUNT + 1,
    }),
    // Whole sets, so that what needs several leases of one owner happens often.
    fc
      .constantFrom('a', 'b', 'a|b-1|b')
      .map((host) => Array.from({ length: STEP_LEASE_COUNT }, () => host)),
  ),
})

const acquire: fc.Arbitrary<LeaseStep> = fc.record({
  kind: fc.constant('acquire'),
  who,
  leases: fc.oneof(
    fc.array(lease, { maxLength: 5 }),
    fc.constant(Array.from({ length: STEP_LEASE_COUNT + 1 }, (_, index) => index)),
  ),
})

function replacement(kind: 'replace' | 'override'): fc.Arbitrary<LeaseStep> {
  return fc.record({
    kind: fc.constant(kind),
    who,
    again: fc.constantFrom(false, false, true),
    first: fc.nat({ max: 5 }),
    count: fc.constantFrom(1, 1, 2, 3),
    pieces: fc.constantFrom(1, 2, 2, 3),
    leaky: fc.constantFrom(false, false, false, false, false, false, false, true),
    at: fc.array(at, { minLength: 3, maxLength: 3 }),
    epochShift: fc.constantFrom(0, 0, 0, 0, 0, -1, 1),
  })
}

const FEEDS: readonly GroupFeed[] = [
  { rid: 'AAAAAIAAAAE=', name: 'shop/orders' },
  { rid: '"|ö', name: '"ü" \u{1f30a}\n' },
]

const HOUR_US = 3_600_000_000

/** Any call of a lease group, or time that passes, also backwards. */
export const leaseStep: fc.Arbitrary<LeaseStep> = fc.oneof(
  { weight: 8, arbitrary: sync },
  { weight: 2, arbitrary: create },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('read') }) },
  { weight: 8, arbitrary: plan },
  { weight: 8, arbitrary: acquire },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('checkpoint'), who, writes }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('release'),
      who,
      writes,
      raisedBy: fc.constantFrom(undefined, undefined, undefined, -1, 1, 2 * HOUR_US),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reconcile'), who, writes }) },
  { weight: 4, arbitrary: replacement('replace') },
  { weight: 2, arbitrary: replacement('override') },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('setPaused'),
      paused: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('claimFeed'),
      feed: fc.constantFrom(...FEEDS),
      insteadOf: fc.constantFrom(undefined, ...FEEDS.map(({ rid }) => rid)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('discard'), token: fc.constantFrom('x', 'y') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('declareLost'),
      keys: fc.constantFrom(...LOSS_KEYS),
      generation: fc.constantFrom('lost once', 'lost twice'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass'),
      us: fc.constantFrom(
        1,
        999,
        500_000,
        CAP_MS * 1000,
        CAP_MS * 1000,
        TTL_MS * 1000,
        HOUR_US,
        -700_000,
        -700_000,
        -HOUR_US,
      ),
    }),
  },
)

const START: StepPosition = { lsn: 1, text: 'start', attempts: undefined }
const EVERY_LEASE = Array.from({ length: STEP_LEASE_COUNT }, (_, index) => index)

/** After these two hosts share the leases: what follows finds something to work on. */
export const SHARING_STEPS: readonly LeaseStep[] = [
  { kind: 'create', count: STEP_LEASE_COUNT, overlapping: false, at: START },
  joinOf('a'),
  joinOf('b'),
  { kind: 'plan', lag: 0, targets: EVERY_LEASE.map((index) => (index % 2 === 0 ? 'a' : 'b')) },
  acquireOf('a'),
  acquireOf('b'),
]

function joinOf(name: string): LeaseStep {
  return {
    kind: 'sync',
    who: { ...identity(name), entitled: false },
    intent: 'join',
    profile: PROFILE,
    ttlMs: TTL_MS,
    clockCapMs: CAP_MS,
    observed: undefined,
    digestShift: undefined,
  }
}

function acquireOf(name: string): LeaseStep {
  return { kind: 'acquire', who: { ...identity(name), entitled: false }, leases: EVERY_LEASE }
}
