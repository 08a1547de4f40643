import { describe, expect, test } from 'vitest'
import {
  errorCode,
  parseFeedRangeId,
  rangesOverlap,
  type FeedRange,
  type LeaseStore,
} from '@tidemark/contracts'
import {
  FakeDocumentCollection,
  Fleet,
  assertFleetHistory,
  assertNoStaleOwner,
  type Delivery,
  type FleetHost,
  type LinkState,
  type SimulatedClock,
} from '@tidemark/testing'
import { DocumentLeaseStore } from '../lease-stores/documents/document-lease-store.ts'
import { LeaseMemory } from '../lease-stores/lease-memory.ts'
import { leaseStoreOn } from '../lease-stores/memory-lease-store.ts'
import { SeededRandom } from '@tidemark/testing/simulation'

const never = new AbortController().signal

const TTL_MS = 8_000

/** Runs a seed again and again the same: SEED=n FLEET_RUNS=1. */
const FIRST_SEED = Number(process.env['SEED'] ?? 1)
const RUNS = Number(process.env['FLEET_RUNS'] ?? 36)

/** `changing`: ranges split and merge all the time, and some readers come too late. */
type Reshaping = 'fixed' | 'changing'

interface Run {
  readonly fleet: Fleet
  readonly random: SeededRandom
  readonly log: string[]
  readonly running: Set<FleetHost>
  readonly pending: { readonly member: FleetHost; readonly work: Promise<unknown> }[]
  readonly ranges: Reshaping
  /** At which times two hosts were called with one lease in states that may overlap. */
  faults: number
  readonly loseLeases: () => void
}

/** A lease store, and how it loses all its data. */
interface Keeper {
  readonly store: LeaseStore
  readonly lose: () => void
}

/** Store calls take 0 to 30 ms, each way. */
function slowStore(clock: SimulatedClock, random: SeededRandom): Keeper {
  const delay = (): Promise<void> => clock.sleep(random.below(30), never)
  const memory = new LeaseMemory(random)
  const store = leaseStoreOn(memory, { clock, hooks: { before: delay, after: delay } })
  return { store, lose: () => memory.loseAllData() }
}

/** The same in documents, each request with its own delay. */
function slowDocuments(clock: SimulatedClock, random: SeededRandom): Keeper {
  const delay = (): Promise<void> => clock.sleep(random.below(15), never)
  const collection = new FakeDocumentCollection({ clock, before: delay, after: delay })
  const store = new DocumentLeaseStore(collection)
  return { store, lose: () => collection.restore(new Map()) }
}

function newRun(seed: number, { makeStore, ranges, losing = false }: SimulationOptions): Run {
  const random = new SeededRandom(seed)
  let lose = (): void => {}
  const fleet = new Fleet({
    ranges: 1 + random.below(6),
    random,
    leases: (clock) => {
      const keeper = makeStore(clock, random)
      lose = keeper.lose
      return keeper.store
    },
    // A group that begins with "now" must not do so again when its leases are lost.
    feedOptions: { startFromBeginning: !losing, maxItemCount: 4, onHorizonPassed: 'resync' },
    resynchronize: () => {
      if (random.below(100) < 30) throw new Error('resynchronize failed')
    },
    hostOptions: {
      handoffTimeoutMs: 3_000,
      shutdownTimeoutMs: 3_000,
      abortGraceMs: 500,
      startTimeoutMs: 20_000,
    },
    afterJoin: () => fleet.clock.sleep(random.below(100), never),
    behaviour: async ({ signal }) => {
      const dice = random.below(100)
      if (dice < 5) throw new Error('observer failed')
      if (dice < 7) await fleet.clock.sleep(6_000, signal)
      else await fleet.clock.sleep(random.below(60), never)
    },
  })
  fleet.feed.positions.beforeReport = async () => {
    await fleet.clock.sleep(random.below(30), never)
    if (random.below(100) < 20) throw new Error('positions cannot be written')
  }
  return {
    fleet,
    random,
    log: [],
    running: new Set(),
    pending: [],
    ranges,
    faults: 0,
    loseLeases: () => lose(),
  }
}

const NAMES = ['a', 'b', 'c', 'd']
const LINKS: readonly LinkState[] = ['up', 'up', 'down', 'silent', 'deaf']

function act(run: Run): void {
  const { fleet, random, running, pending, log } = run
  const some = [...running]
  const dice = random.below(100)
  const note = (text: string): void => void log.push(`${fleet.clock.monotonicMs()} ${text}`)
  if (some.length === 0 || dice < 15) {
    const member = fleet.create(random.pick(NAMES))
    running.add(member)
    note(`start ${member.name}`)
    const work = fleet.register(member).catch(() => running.delete(member))
    pending.push({ member, work })
    return
  }
  const member = random.pick(some)
  run.faults += 1
  if (dice < 22) {
    note(`kill ${member.name}`)
    running.delete(member)
    fleet.kill(member)
  } else if (dice < 30) {
    note(`stop ${member.name}`)
    running.delete(member)
    member.gate.thaw()
    pending.push({ member, work: member.host.unregisterObservers() })
  } else if (dice < 45) {
    if (member.gate.isFrozen) {
      note(`thaw ${member.name}`)
      member.gate.thaw()
    } else {
      note(`freeze ${member.name}`)
      member.gate.freeze()
    }
  } else {
    member.store.link = random.pick(LINKS)
    note(`link ${member.name} ${member.store.link}`)
  }
}

/** Ranges change, on average with every second step: down to one and up to a dozen. */
function reshape({ fleet: { feed, clock }, random, log }: Run): void {
  const range = random.pick(feed.ranges)
  const note = (text: string): void =>
    void log.push(`${clock.monotonicMs()} ${text} ${range.minInclusive}-${range.maxExclusive}`)
  const dice = random.below(100)
  if (dice < 10) {
    note('pass horizon')
    feed.passHorizon(range)
  } else if (dice < 10 + 90 / (1 + feed.ranges.length / 4)) {
    note('split')
    feed.split(range)
  } else {
    note('merge')
    feed.merge(range)
  }
}

/** Everything works again: at least one host is there, nobody is frozen or cut off. */
async function heal({ fleet, running }: Run): Promise<void> {
  for (const member of fleet.hosts) member.store.link = 'up'
  for (const member of running) member.gate.thaw()
  // Long enough for a host that has lost its name to find out.
  await fleet.advance(5_000)
  const isAlive = [...running].some(({ host }) => host.health().status === 'running')
  if (!isAlive) running.add(await fleet.start('z'))
}

interface SimulationOptions {
  readonly makeStore: typeof slowStore | typeof slowDocuments
  readonly ranges: Reshaping
  /** Whether the lease store loses all its data now and then. @default false */
  readonly losing?: boolean | undefined
}

async function simulate(seed: number, options: SimulationOptions): Promise<Run> {
  const run = newRun(seed, options)
  const { fleet, random } = run
  if (!fleet.startsAtBeginning) run.running.add(await fleet.start('a'))
  for (let step = 0; step < 60; step += 1) {
    if (random.below(100) < 25) act(run)
    if (run.ranges === 'changing' && random.below(100) < 50) reshape(run)
    if (options.losing === true && random.below(100) < 4) {
      run.log.push(`${fleet.clock.monotonicMs()} lose leases`)
      run.loseLeases()
    }
    for (let n = random.below(8); n > 0; n -= 1) fleet.feed.append(`key${random.below(12)}`)
    await fleet.advance(random.below(1_500))
  }
  await heal(run)
  try {
    const isShared = (): boolean =>
      run.ranges === 'fixed' ? fleet.isBalanced() : fleet.coversAll() && isCut(fleet)
    await fleet.until(() => isShared() && fleet.isDrained(), 60_000)
    assertFleetHistory(fleet)
    // A newcomer takes the name of a process without waiting for its deadline, and that one learns of it by a
    // hint or its next beat; the newcomer may have handed the lease over to a third host meanwhile.
    assertNoStaleOwner(fleet, { mayOverlap: (delivery) => lostItsName(fleet, delivery) })
    await assertReports(run)
    for (const member of fleet.hosts) {
      for (const { error } of fleet.eventsOf(member, 'stopped')) {
        if (error === undefined) continue
        const code = errorCode(error)
        expect(['ERR_HOST_REPLACED', 'ERR_LEASE_STORE_UNAVAILABLE']).toContain(code)
      }
    }
    await fleet.end()
    const alive = run.pending.filter(({ member }) => !member.gate.isFrozen)
    await fleet.run(Promise.all(alive.map(({ work }) => work)))
  } catch (error) {
    throw new Error(`seed ${seed}: ${String(error)}\n${run.log.join('\n')}`, { cause: error })
  }
  return run
}

/** Whether another process had joined under the name of this one, so lately that it need not know yet. */
function lostItsName(fleet: Fleet, { host, member, atMs }: Delivery): boolean {
  const own = fleet.events(member, 'joined').findLast((joined) => joined.atMs <= atMs)
  return fleet.hosts
    .filter((other) => other !== member && other.name === host)
    .flatMap((other) => fleet.events(other, 'joined'))
    .some(
      (joined) =>
        joined.atMs >= (own?.atMs ?? 0) && joined.atMs <= atMs && atMs <= joined.atMs + TTL_MS,
    )
}

/** Whether each lease that is worked on lies in one present range. */
function isCut(fleet: Fleet): boolean {
  return fleet.workedOn().every((range) => fleet.feed.ranges.some((own) => contains(own, range)))
}

function contains(outer: FeedRange, { minInclusive, maxExclusive }: FeedRange): boolean {
  return outer.minInclusive <= minInclusive && maxExclusive <= outer.maxExclusive
}

/** TTL-14: no position was told that is not stored; what a group has to read yet is not purged. */
async function assertReports({ fleet, log }: Run): Promise<void> {
  // After a loss a position that is told late may be above those that leases were made at: it is true all the same.
  if (log.some((line) => /pass horizon|lose leases/.test(line))) return
  await fleet.until(() => fleet.feed.positions.reports.length > 0)
  const group = await fleet.run(fleet.leases.openGroup('group'))
  const { leases } = await fleet.run(group.read())
  const reported = await fleet.feed.positions.read('group')
  for (const { range, lsn } of reported) {
    for (const { id, checkpoint } of leases) {
      if (!rangesOverlap(parseFeedRangeId(id)!, range)) continue
      expect(lsn, `reported of ${id}`).toBeLessThanOrEqual(checkpoint.lsn)
    }
  }
}

function happened(
  { fleet }: Run,
  name: 'rangeReplaced' | 'leasesJoined' | 'resynchronized' | 'recovered',
): number {
  return fleet.hosts.flatMap((member) => fleet.eventsOf(member, name)).length
}

describe('random faults', () => {
  test.each([
    { kept: 'memory', ranges: 'fixed', makeStore: slowStore, runs: RUNS },
    { kept: 'memory', ranges: 'changing', makeStore: slowStore, runs: RUNS },
    { kept: 'documents', ranges: 'fixed', makeStore: slowDocuments, runs: Math.ceil(RUNS / 3) },
    { kept: 'documents', ranges: 'changing', makeStore: slowDocuments, runs: Math.ceil(RUNS / 3) },
  ] as const)(
    'I1 I4 I5 I6 I7 I8 PH-4 LE-10 seeded schedules, leases in $kept, $ranges ranges: nothing skipped, no stale owner called, balanced and drained after the faults',
    async ({ makeStore, ranges, runs }) => {
      let faults = 0
      let repeated = 0
      let delivered = 0
      let replaced = 0
      let joined = 0
      let resynchronized = 0
      for (let seed = FIRST_SEED; seed < FIRST_SEED + runs; seed += 1) {
        const run = await simulate(seed, { makeStore, ranges })
        faults += run.faults
        replaced += happened(run, 'rangeReplaced')
        joined += happened(run, 'leasesJoined')
        resynchronized += happened(run, 'resynchronized')
        repeated += run.fleet.duplicates().size
        delivered += run.fleet.feed.changes.length
      }
      // A test of faults in which none happened would show nothing.
      expect(faults).toBeGreaterThan(runs * 3)
      expect(delivered).toBeGreaterThan(runs * 50)
      expect(repeated).toBeLessThan(delivered)
      const changes = { replaced, joined, resynchronized }
      if (ranges === 'fixed') {
        expect(changes).toEqual({ replaced: 0, joined: 0, resynchronized: 0 })
      } else if (runs >= 20) {
        // A run in documents is not the same twice: how often each happens varies, in few runs down to never.
        for (const count of Object.values(changes)) expect(count).toBeGreaterThan(0)
      }
    },
    300_000,
  )

  test.each([
    { kept: 'memory', ranges: 'fixed', makeStore: slowStore, runs: RUNS },
    { kept: 'memory', ranges: 'changing', makeStore: slowStore, runs: RUNS },
    { kept: 'documents', ranges: 'changing', makeStore: slowDocuments, runs: Math.ceil(RUNS / 3) },
  ] as const)(
    'I1 I4 I5 PH-4 the same, and the lease store loses all its data now and then, leases in $kept, $ranges ranges',
    async ({ makeStore, ranges, runs }) => {
      let losses = 0
      let recovered = 0
      for (let seed = FIRST_SEED; seed < FIRST_SEED + runs; seed += 1) {
        const run = await simulate(seed, { makeStore, ranges, losing: true })
        losses += run.log.filter((line) => line.includes('lose leases')).length
        recovered += happened(run, 'recovered')
      }
      expect(losses).toBeGreaterThan(runs)
      expect(recovered).toBeGreaterThan(runs)
    },
    300_000,
  )

  test.each(['fixed', 'changing'] as const)(
    'O12 one seed is one history: %s ranges',
    async (ranges) => {
      const histories = []
      for (let round = 0; round < 2; round += 1) {
        const { fleet } = await simulate(7, { makeStore: slowStore, ranges })
        histories.push(fleet.calls.map((call) => JSON.stringify(call)))
      }
      expect(histories[0]).toEqual(histories[1])
    },
  )
})
