import { SeededRandom } from '../time/seeded-random.ts'
import {
  FAULT_CLASSES,
  type Fault,
  type FaultAction,
  type FaultClass,
  type FaultKind,
} from './fault.ts'
import type { HostSettings, LeaseStoreKind, Schedule } from './schedule.ts'

/** Session time to live of the simulated hosts, to which the lengths of faults are related. */
const TTL_MS = 8_000

const DAMAGE_STREAM = 1_001
const CRASH_STREAM = 1_002
const OBSERVER_STREAM = 1_003
const STRANGER_STREAM = 1_004
/** By this one the seeds that were known to show mutants have the histories that they had. */
const LOAD_STREAM = 1_937

/** Until hosts have told what their leases cost. */
const LOADS_KNOWN_MS = 35_000
/** Until what leases cost is known, those that are to move have moved, and nothing has for a minute and more. */
const STEADY_MS = 305_000

/** Whoever owns a lease may learn of these only by being refused. */
const UNNOTICED: ReadonlySet<FaultKind> = new Set(['release', 'seek', 'twin'])

/** The lease store loses data. */
const FORGETTING: ReadonlySet<FaultKind> = new Set(['storeRollback', 'storeWipe', 'storeCrash'])

type MakeFault = (random: SeededRandom) => FaultAction

const host = (random: SeededRandom): number => random.below(6)
const range = (random: SeededRandom): number => random.below(12)
/** Short ones as likely as long ones. */
const longMs = (random: SeededRandom, low: number, high: number): number =>
  Math.round(low * (high / low) ** random.fraction())

const LINK_TROUBLES: readonly ((random: SeededRandom) => {
  lost?: number
  refused?: number
  doubled?: number
  delayMs?: number
})[] = [
  () => ({ lost: 1 }),
  (random) => ({ lost: random.pick([0.1, 0.5]) }),
  () => ({ refused: 1 }),
  (random) => ({ refused: random.pick([0.1, 0.5]) }),
  (random) => ({ delayMs: longMs(random, 50, 12_000) }),
  (random) => ({ delayMs: longMs(random, 20, 1_000), doubled: 0.3 }),
]

const MAKERS: Readonly<Record<FaultClass, readonly MakeFault[]>> = {
  network: [
    (random) => ({
      kind: 'link',
      host: host(random),
      way: random.pick(['request', 'reply', 'reply', 'both', 'hints'] as const),
      ...random.pick(LINK_TROUBLES)(random),
      forMs: longMs(random, 300, 20_000),
    }),
  ],
  store: [
    (random) => ({ kind: 'storePause', forMs: longMs(random, 200, 20_000) }),
    (random) => ({ kind: 'storeClock', byMs: longMs(random, 500, 3_600_000) }),
    (random) => ({ kind: 'storeClock', byMs: -longMs(random, 500, 3_600_000) }),
    (random) => ({ kind: 'storeRollback', lostMs: random.below(2_000) }),
    (random) => ({ kind: 'storeRollback', lostMs: random.below(2_000) }),
    () => ({ kind: 'storeWipe' }),
  ],
  process: [
    (random) => ({ kind: 'kill', host: host(random) }),
    (random) => ({ kind: 'kill', host: host(random), restartMs: longMs(random, 50, 15_000) }),
    (random) => ({
      kind: 'stop',
      host: host(random),
      forMs: longMs(random, TTL_MS / 10, TTL_MS * 4),
    }),
    (random) => ({ kind: 'stop', host: host(random), forMs: longMs(random, 50, 3_000) }),
    (random) => ({ kind: 'suspend', host: host(random), forMs: longMs(random, 1_000, TTL_MS * 3) }),
    (random) => ({ kind: 'restart', host: host(random) }),
    (random) => ({ kind: 'twin', host: host(random) }),
  ],
  clock: [
    (random) => ({
      kind: 'wallJump',
      host: host(random),
      byMs: longMs(random, 500, 3_600_000) * random.pick([-1, 1]),
    }),
  ],
  source: [
    (random) => ({ kind: 'split', range: range(random) }),
    (random) => ({ kind: 'split', range: range(random) }),
    (random) => ({ kind: 'merge', range: range(random) }),
    (random) => ({
      kind: 'source',
      failing: random.pick([0, 0.3, 1]),
      delayMs: random.pick([0, 100, 2_000]),
      forMs: longMs(random, 300, 8_000),
    }),
  ],
  observer: [
    (random) => ({ kind: 'throw', count: random.between(1, 3) }),
    (random) => ({ kind: 'poison', change: random.below(100) }),
    (random) => ({
      kind: 'slow',
      host: host(random),
      upToMs: longMs(random, 200, 12_000),
      deaf: random.chance(0.3),
      forMs: longMs(random, 1_000, 15_000),
    }),
    (random) => ({ kind: 'hang', host: host(random), deaf: random.chance(0.5) }),
  ],
  operator: [
    (random) => ({ kind: 'seek', range: range(random), byLsn: random.between(1, 20) }),
    (random) => ({ kind: 'release', range: range(random) }),
    (random) => ({ kind: 'pause', forMs: longMs(random, 500, 10_000) }),
  ],
  fleet: [() => ({ kind: 'join' }), (random) => ({ kind: 'leave', host: host(random) })],
}

/** What a seed does not decide. */
export interface ScheduleLimits {
  /** @default all */
  readonly allowed?: readonly FaultClass[] | undefined
  /** @default as the seed says */
  readonly store?: LeaseStoreKind | undefined
  /** @default as the seed says */
  readonly balanceBy?: HostSettings['balanceBy']
}

/** The schedule of a seed: which of the allowed classes of faults are on, which faults come when, and how large the world is. */
export function generateSchedule(
  seed: number,
  { allowed = FAULT_CLASSES, store: chosen, balanceBy }: ScheduleLimits = {},
): Schedule {
  const random = SeededRandom.stream(seed, 0)
  const classes = FAULT_CLASSES.filter((one) => random.chance(0.5) && allowed.includes(one))
  const faultsForMs = random.between(10_000, 26_000)
  const count = classes.length === 0 ? 0 : random.between(0, 13)
  const faults: Fault[] = []
  for (let index = 0; index < count; index += 1) {
    const make = random.pick(MAKERS[random.pick(classes)])
    faults.push({ atMs: random.between(500, faultsForMs - 1), ...make(random) })
  }
  if (classes.includes('store')) faults.push(...damageOf(seed, faultsForMs))
  if (classes.includes('fleet')) faults.push(...strangersOf(seed, { faults, faultsForMs }))
  const drawn = random.chance(0.06) ? 'documents' : 'model'
  const store = chosen ?? drawn
  if (store === 'documents' && classes.includes('store')) {
    faults.push(...crashesOf(seed, faultsForMs))
  }
  const schedule: Schedule = {
    seed,
    store,
    hosts: random.between(2, 5),
    settings: { ...settingsOf(random), observer: observerOf(seed) },
    ranges: random.between(1, 6),
    commits: random.between(55, 95),
    faultsForMs,
    faults: withoutBadCompany([
      ...forgottenOf(stormOf(faults, random), { random, faultsForMs }),
      ...cutOf(classes, { random: SeededRandom.stream(seed, 7), faultsForMs }),
    ]).sort((a, b) => a.atMs - b.atMs),
  }
  // Drawn apart too.
  const loads = SeededRandom.stream(seed, LOAD_STREAM)
  const drawnBalance = loads.chance(1 / 6) ? 'load' : 'count'
  return (balanceBy ?? drawnBalance) === 'load' ? byLoad(schedule, loads) : schedule
}

/** Its faults come when hosts balance by load already. */
function byLoad(schedule: Schedule, random: SeededRandom): Schedule {
  return {
    ...schedule,
    settings: { ...schedule.settings, balanceBy: 'load' },
    faultsForMs: schedule.faultsForMs + LOADS_KNOWN_MS,
    // It takes as long as twenty other schedules.
    ...(random.chance(0.25) ? { steadyForMs: STEADY_MS } : {}),
    faults: schedule.faults.map((fault) => ({ ...fault, atMs: fault.atMs + LOADS_KNOWN_MS })),
  }
}

/** Drawn apart too. */
function observerOf(seed: number): HostSettings['observer'] {
  return SeededRandom.stream(seed, OBSERVER_STREAM).chance(1 / 3) ? 'one' : 'batch'
}

/** Drawn apart, so that the other faults of a seed are those that they were before there was this one. */
function damageOf(seed: number, faultsForMs: number): readonly Fault[] {
  const random = SeededRandom.stream(seed, DAMAGE_STREAM)
  if (!random.chance(0.15)) return []
  const atMs = random.between(500, faultsForMs - 1)
  const how = random.pick(['deleted', 'overwritten'] as const)
  return [{ kind: 'leaseDamage', atMs, range: range(random), how }]
}

/** Drawn apart too. A lease store that loses data forgets which feed a group follows. */
function strangersOf(
  seed: number,
  { faults, faultsForMs }: { readonly faults: readonly Fault[]; readonly faultsForMs: number },
): readonly Fault[] {
  const random = SeededRandom.stream(seed, STRANGER_STREAM)
  if (faults.some(({ kind }) => FORGETTING.has(kind)) || !random.chance(0.2)) return []
  return Array.from({ length: random.between(1, 3) }, () => {
    return { kind: 'stranger' as const, atMs: random.between(500, faultsForMs - 1) }
  })
}

/** Drawn apart too. Several: only those lose anything that come when something is not on disk. */
function crashesOf(seed: number, faultsForMs: number): readonly Fault[] {
  const random = SeededRandom.stream(seed, CRASH_STREAM)
  if (random.chance(0.25)) return []
  return Array.from({ length: random.between(2, 6) }, () => ({
    kind: 'storeCrash' as const,
    atMs: random.between(500, faultsForMs - 1),
    lostPart: random.pick([1, 1, random.fraction()]),
    withHosts: random.chance(0.4),
    forMs: longMs(random, 100, 5_000),
  }))
}

function settingsOf(random: SeededRandom): HostSettings {
  return {
    checkpointFrequency: random.pick([
      'everyBatch',
      'everyBatch',
      'everyBatch',
      { everyChanges: random.between(2, 12) },
      { everyMs: random.between(200, 2_000) },
    ]),
    maxConcurrentKeys: random.chance(0.3) ? random.between(2, 6) : 1,
    failurePolicy: random.chance(0.3) ? 'deadLetter' : 'retryForever',
    watchdog: random.chance(0.3),
  }
}

/** Now and then many hosts come and go at once. */
function stormOf(faults: Fault[], random: SeededRandom): Fault[] {
  const first = faults.find(({ kind }) => kind === 'join')
  if (first === undefined || !random.chance(0.3)) return faults
  for (let index = random.between(3, 8); index > 0; index -= 1) {
    const action: FaultAction = random.chance(0.5)
      ? { kind: 'join' }
      : { kind: 'leave', host: host(random) }
    faults.push({ atMs: first.atMs + random.below(2_000), ...action })
  }
  return faults
}

/** As a rule a store that goes back forgets somebody whom the owner of before had not noticed. By chance alone it hardly ever would. */
function forgottenOf(
  faults: Fault[],
  { random, faultsForMs }: { readonly random: SeededRandom; readonly faultsForMs: number },
): Fault[] {
  const rollback = faults.find(({ kind }) => kind === 'storeRollback')
  const unnoticed = faults.find(({ kind }) => UNNOTICED.has(kind))
  if (rollback === undefined || unnoticed === undefined || random.chance(0.3)) return faults
  const afterMs = random.between(1, 1_500)
  const atMs = unnoticed.atMs + afterMs
  if (atMs >= faultsForMs) return faults
  const moved: Fault = { kind: 'storeRollback', atMs, lostMs: afterMs + random.below(300) }
  return [...faults.filter((fault) => fault !== rollback), moved]
}

/** Whoever is cut off goes by the deadline that he had, and the others by a clock that is set meanwhile. By chance alone they hardly ever meet. */
function cutOf(
  classes: readonly FaultClass[],
  { random, faultsForMs }: { readonly random: SeededRandom; readonly faultsForMs: number },
): readonly Fault[] {
  if (!classes.includes('store') || !classes.includes('network') || random.chance(0.5)) return []
  return [
    {
      kind: 'cutAndStep',
      atMs: random.between(2_000, faultsForMs - 1),
      host: host(random),
      forMs: longMs(random, TTL_MS / 2, TTL_MS * 2),
      afterMs: random.below(TTL_MS),
      byMs: longMs(random, 500, 3_600_000) * (random.chance(0.5) ? 1 : -1),
    },
  ]
}

/** Whether it sets the clock of the lease store back. */
function setsBack(fault: Fault): boolean {
  return (fault.kind === 'storeClock' || fault.kind === 'cutAndStep') && fault.byMs < 0
}

/**
 * Faults that nothing can be promised for together are not combined; what the simulation does not show tells so.
 *
 * - A lease store that loses data and whose clock goes back may give an epoch again that it has given already, and fools a
 *   sink outside that compares epochs.
 * - A machine that sleeps while its wall clock is set back cannot know that time has passed.
 */
function withoutBadCompany(faults: readonly Fault[]): Fault[] {
  const has = (...kinds: readonly FaultKind[]): boolean =>
    faults.some(({ kind }) => kinds.includes(kind))
  const losesData = has('storeRollback', 'storeWipe')
  const sleeps = has('suspend')
  return faults.filter(
    (fault) =>
      !(losesData && setsBack(fault)) && !(sleeps && fault.kind === 'wallJump' && fault.byMs < 0),
  )
}
