import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import {
  effectivePartitionKey,
  errorCode,
  parseFeedRangeId,
  partitionKeyDefinition,
  rangeContainsEpk,
  type LeaseGroup,
} from '@tidemark/contracts'
import { keyComponents } from '@tidemark/contracts/internal'
import { Fleet, assertFleetHistory, type FleetHost, type LinkState } from '@tidemark/testing'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'
import type { CheckpointFrequency } from '../feed-processing/pump-options.ts'
import type { HostOptions } from './host-options.ts'
import { LetterBox, type Letter } from './letter-box.fixture.ts'
import { PoisonObservers, type Poison } from './poison-observers.fixture.ts'
import { SeededRandom } from '@tidemark/testing/simulation'

const never = new AbortController().signal

/** Runs a seed again and again the same: SEED=n FLEET_RUNS=1. */
const FIRST_SEED = Number(process.env['SEED'] ?? 1)
const RUNS = Number(process.env['FLEET_RUNS'] ?? 30)

const NAMES = ['a', 'b', 'c', 'd']
const LINKS: readonly LinkState[] = ['up', 'up', 'up', 'down', 'silent', 'deaf']
const KINDS: readonly Poison[] = ['fails', 'fails', 'falters', 'kills', 'hangs']
const GRACE_MS = 500
const KEY = partitionKeyDefinition('/key')
/** Ends that nobody saw count from so many on. */
const MIN_UNSEEN = 3

type Mode = 'deadLetter' | 'haltRange' | 'retryForever'

interface Run {
  readonly mode: Mode
  readonly maxAttempts: number
  readonly maxConsecutive: number
  readonly lanes: number
  readonly fleet: Fleet
  readonly random: SeededRandom
  readonly observers: PoisonObservers
  readonly box: LetterBox
  readonly log: string[]
  readonly running: Set<FleetHost>
  readonly pending: { readonly member: FleetHost; readonly work: Promise<unknown> }[]
  readonly group: LeaseGroup
  faults: number
  redrives: number
  overwrites: number
}

async function newRun(seed: number, { mode, hasLanes }: SimulationOptions): Promise<Run> {
  const random = new SeededRandom(seed)
  const maxAttempts = 1 + random.below(4)
  const maxConsecutive = random.pick([2, 100, 100])
  const lanes = hasLanes ? 2 + random.below(4) : 1
  const places = random.pick([1, 2, 32])
  const frequencies: CheckpointFrequency[] = [
    'everyBatch',
    'everyBatch',
    { everyChanges: 7 },
    { everyMs: 700 },
  ]
  if (!hasLanes) frequencies.push('manual', 'manual')
  const checkpointFrequency = random.pick(frequencies)
  const box = new LetterBox()
  const hostOptions: HostOptions = {
    failurePolicy: { mode, maxAttempts, maxConsecutiveDeadLetters: maxConsecutive },
    checkpointFrequency,
    maxConcurrentKeys: lanes,
    laneWindowChanges: random.pick([3, 10, 100]),
    maxConcurrentObservers: places,
    maxBatchMs: 4_000,
    redrivePollMs: 800,
    retryDelayMs: 50,
    retryMaxDelayMs: 600,
    handoffTimeoutMs: 3_000,
    shutdownTimeoutMs: 3_000,
    abortGraceMs: GRACE_MS,
    startTimeoutMs: 20_000,
  }
  const fleet = new Fleet({
    ranges: 1 + random.below(3),
    measuring: random.chance(0.8),
    random,
    leases: (clock) => {
      const delay = (): Promise<void> => clock.sleep(random.below(30), never)
      return new MemoryLeaseStore({ clock, random, hooks: { before: delay, after: delay } })
    },
    feedOptions: { startFromBeginning: true, maxItemCount: random.pick([1, 4, 16]) },
    deadLetters: box,
    hostOptions,
  })
  const isManual = checkpointFrequency === 'manual'
  const given = { fleet, random, lanes, places, abortGraceMs: GRACE_MS, isManual }
  const observers = new PoisonObservers(given)
  fleet.behaviour = (context, changes) => observers.process(context, changes)
  box.before = async () => {
    await fleet.clock.sleep(random.chance(0.05) ? 3_000 : random.below(200), never)
    if (random.chance(0.2)) throw new Error('letters cannot be written')
  }
  const group = await fleet.run(fleet.leases.openGroup('group'))
  const common = { log: [], running: new Set<FleetHost>(), pending: [], group }
  const counts = { faults: 0, redrives: 0, overwrites: 0 }
  return {
    mode,
    maxAttempts,
    maxConsecutive,
    lanes,
    fleet,
    random,
    observers,
    box,
    ...common,
    ...counts,
  }
}

function note({ log, fleet }: Run, text: string): void {
  log.push(`${fleet.clock.monotonicMs()} ${text}`)
}

function begin(run: Run, name: string): void {
  const { fleet, running, pending } = run
  const member = fleet.create(name)
  running.add(member)
  note(run, `start ${name}`)
  const work = fleet.register(member).catch(() => running.delete(member))
  pending.push({ member, work })
}

function act(run: Run): void {
  const { fleet, random, running, pending } = run
  for (const member of running) if (isDead(run, member)) running.delete(member)
  const dice = random.below(100)
  if (running.size === 0 || dice < 20) {
    begin(run, random.pick(NAMES))
    return
  }
  const member = random.pick([...running])
  run.faults += 1
  if (dice < 30) {
    note(run, `kill ${member.name}`)
    running.delete(member)
    fleet.kill(member)
  } else if (dice < 45) {
    note(run, `stop ${member.name}`)
    running.delete(member)
    member.gate.thaw()
    pending.push({ member, work: member.host.unregisterObservers() })
  } else if (dice < 60) {
    const isFrozen = member.gate.isFrozen
    note(run, `${isFrozen ? 'thaw' : 'freeze'} ${member.name}`)
    if (isFrozen) member.gate.thaw()
    else member.gate.freeze()
  } else {
    member.store.link = random.pick(LINKS)
    note(run, `link ${member.name} ${member.store.link}`)
  }
}

/** A change killed it: who is frozen by a fault may be thawed, who has died in a call may not. */
function isDead({ fleet, observers }: Run, member: FleetHost): boolean {
  return fleet.deliveries.some((one) => one.member === member && observers.killed.has(one))
}

function writeSome(run: Run): void {
  const { fleet, random, observers } = run
  const { feed } = fleet
  for (let n = random.below(7); n > 0; n -= 1) {
    const key = `key${random.below(9)}`
    const size = random.chance(0.15) ? 1 + random.below(6) : 1
    const numbers = feed.append(key, size)
    if (!random.chance(0.08)) continue
    const id = `${key}-${random.pick(numbers)}`
    const kind = random.pick(KINDS)
    observers.poison(id, kind)
    note(run, `${id} ${kind}`)
  }
  if (random.chance(0.25) && feed.changes.length > 0) {
    const poisoned = feed.changes.filter(({ id }) => observers.isPoisoned(id))
    const all = random.chance(0.6) && poisoned.length > 0 ? poisoned : feed.changes
    const { id, partitionKey } = random.pick(all)
    note(run, `overwrite ${id}`)
    run.overwrites += 1
    feed.overwrite(id)
    feed.append(String(keyComponents(partitionKey)[0]))
  }
}

function reshape(run: Run): void {
  const { feed } = run.fleet
  const range = run.random.pick(feed.ranges)
  const splits = run.random.chance(1 / (1 + feed.ranges.length / 3))
  note(run, splits ? 'split' : 'merge')
  if (splits) feed.split(range)
  else feed.merge(range)
}

function redrive(run: Run): void {
  const { box, random } = run
  const kept = [...box.letters.keys()].filter((id) => !box.sentBack.has(id))
  if (kept.length === 0) return
  const id = random.pick(kept)
  note(run, `redrive ${id}`)
  run.redrives += 1
  box.sentBack.add(id)
}

/** Ids of the changes that are in no need of an observer any more. */
function settledChanges({ fleet, box, observers }: Run): Set<string> {
  const settled = new Set([...box.changes, ...observers.vouchedFor])
  for (const { outcome, changes } of fleet.deliveries) {
    if (outcome === 'done') for (const { id } of changes) settled.add(id)
  }
  return settled
}

/** PH-4: nothing below a stored position is neither accepted nor a dead letter. */
async function assertPositions(run: Run): Promise<void> {
  const { leases } = await run.fleet.run(run.group.read())
  const settled = settledChanges(run)
  for (const { id: leaseId, checkpoint } of leases) {
    const range = parseFeedRangeId(leaseId)!
    for (const change of run.fleet.feed.changes) {
      if (change.lsn > checkpoint.lsn || settled.has(change.id)) continue
      const epk = effectivePartitionKey(keyComponents(change.partitionKey), KEY)
      const isBelow = rangeContainsEpk(range, epk)
      assert(
        !isBelow,
        `${leaseId} stands at ${checkpoint.lsn}, above ${change.id} at ${change.lsn}`,
      )
    }
  }
}

/** PH-7: nothing becomes a dead letter before it has had its tries, alone. */
function assertEarned(run: Run, { change, error, attempts, range }: Letter): void {
  const { fleet, maxAttempts, observers, lanes } = run
  const tries = fleet.deliveries.filter(
    (one) =>
      one.changes.length === 1 &&
      one.changes[0]!.id === change.id &&
      one.outcome !== 'done' &&
      !observers.redriven.has(one),
  )
  const isUnseen = error.name === 'ProcessEndedError'
  const least = isUnseen ? Math.max(maxAttempts, MIN_UNSEEN) : maxAttempts
  const needed = least - phantoms(run, change)
  const what = `${change.id} (${error.message}) in ${JSON.stringify(range)}, ${lanes} lanes`
  assert(tries.length >= needed, `${what}: ${tries.length} tries alone, ${needed} needed`)
  assert(attempts >= least, `${what}: says ${attempts} attempts`)
  if (isUnseen) return
  const seen = tries.filter(({ outcome }) => outcome === 'failed').length
  assert(seen >= 1, `${what}: nobody saw it fail`)
}

/**
 * How many tries may have been told of and not made. Word of one goes out right before it: a process that dies,
 * freezes or is cut off from the lease store in this very moment has told of one more than it made.
 */
function phantoms({ fleet }: Run, { id, partitionKey }: Letter['change']): number {
  const epk = effectivePartitionKey(keyComponents(partitionKey), KEY)
  const nameOf = (one: { host: string; leaseId: string; epoch: number }): string =>
    `${one.host} ${one.leaseId} ${one.epoch}`
  const endedWell = new Set(
    fleet.calls
      .filter(({ call, reason }) => call === 'close' && reason !== 'leaseLost')
      .map(nameOf),
  )
  const endedInTry = new Set(
    fleet.deliveries
      .filter(({ outcome, changes }) => outcome === undefined && changes[0]?.id === id)
      .map(nameOf),
  )
  return fleet.calls.filter(
    (one) =>
      one.call === 'open' &&
      rangeContainsEpk(parseFeedRangeId(one.leaseId)!, epk) &&
      !endedWell.has(nameOf(one)) &&
      !endedInTry.has(nameOf(one)),
  ).length
}

/** Nothing goes wrong any more. What fails for its own sake goes on failing, unless it holds its range. */
async function heal(run: Run): Promise<void> {
  const { fleet, running, observers, box, mode } = run
  note(run, 'heal')
  observers.calm({ isHealed: mode !== 'deadLetter' || run.maxConsecutive < 10 })
  box.before = () => {}
  for (const member of fleet.hosts) member.store.link = 'up'
  for (const member of running) {
    if (isDead(run, member)) running.delete(member)
    else member.gate.thaw()
  }
  await fleet.advance(5_000)
  const isAlive = [...running].some(({ host }) => host.health().status !== 'stopped')
  if (!isAlive) running.add(await fleet.start('z'))
  if (mode === 'haltRange') await release(run)
}

/** An operator opens every range again. */
async function release({ fleet, group }: Run): Promise<void> {
  const { leases } = await fleet.run(group.read())
  for (const { id, epoch, range, checkpoint } of leases) {
    const old = [{ leaseId: id, epoch }]
    await fleet.run(group.override({ old, next: [{ range, checkpoint }] }))
  }
}

interface SimulationOptions {
  readonly mode: Mode
  readonly hasLanes: boolean
}

async function simulate(seed: number, options: SimulationOptions): Promise<Run> {
  const run = await newRun(seed, options)
  const { fleet, random, box } = run
  const put = box.put.bind(box)
  const earned = new Set<string>()
  const unearned: unknown[] = []
  box.put = (letter) => {
    try {
      if (!earned.has(letter.id)) assertEarned(run, letter)
    } catch (error) {
      // Thrown here it would be a sink that fails, no more.
      unearned.push(error)
    }
    earned.add(letter.id)
    return put(letter)
  }
  try {
    for (let step = 0; step < 60; step += 1) {
      if (random.chance(0.25)) act(run)
      if (random.chance(0.08)) reshape(run)
      if (random.chance(0.1)) redrive(run)
      writeSome(run)
      await fleet.advance(random.below(1_500))
      if (step % 6 === 5) await assertPositions(run)
      if (unearned.length > 0) throw unearned[0]
    }
    await heal(run)
    const isDone = (): boolean => {
      const settled = settledChanges(run)
      return fleet.feed.changes.every(({ id }) => settled.has(id)) && box.sentBack.size === 0
    }
    if (options.mode === 'haltRange') {
      // What had ended a few processes halts once more, without a try.
      await fleet.advance(20_000)
      await release(run)
    }
    await fleet.until(isDone, 120_000)
    if (unearned.length > 0) throw unearned[0]
    await assertPositions(run)
    assertFleetHistory(fleet, { lanes: true })
    for (const member of fleet.hosts) {
      for (const { error } of fleet.eventsOf(member, 'stopped')) {
        if (error === undefined) continue
        expect(['ERR_HOST_REPLACED', 'ERR_LEASE_STORE_UNAVAILABLE']).toContain(errorCode(error))
      }
    }
    await fleet.end()
    const alive = run.pending.filter(({ member }) => !member.gate.isFrozen)
    await fleet.run(Promise.all(alive.map(({ work }) => work)))
  } catch (error) {
    throw new Error(`seed ${seed}: ${String(error)}\n${describeRun(run)}`, { cause: error })
  }
  return run
}

function describeRun(run: Run): string {
  const { fleet, log, running } = run
  const settled = settledChanges(run)
  const open = fleet.feed.changes.filter(({ id }) => !settled.has(id))
  return [
    ...log,
    `not settled: ${open.map(({ id, lsn }) => `${id} at ${lsn}`).join()}`,
    ...[...running].map(({ name, host }) => `${name}: ${JSON.stringify(host.health())}`),
  ].join('\n')
}

describe('random faults among poisoned changes', () => {
  test.each([
    { mode: 'deadLetter', hasLanes: false },
    { mode: 'deadLetter', hasLanes: true },
    { mode: 'haltRange', hasLanes: false },
    { mode: 'haltRange', hasLanes: true },
    { mode: 'retryForever', hasLanes: false },
    { mode: 'retryForever', hasLanes: true },
  ] as const)(
    'PH-4 PH-7 PH-8 PH-10 I4 I5 seeded schedules, $mode, lanes: $hasLanes: nothing lost, nothing given up too early',
    async (options) => {
      const runs = options.mode === 'deadLetter' ? RUNS : Math.ceil(RUNS / 3)
      const seen = { faults: 0, letters: 0, redrives: 0, overwrites: 0, stuck: 0, halted: 0 }
      const poisons: Record<Poison, number> = { fails: 0, falters: 0, kills: 0, hangs: 0 }
      for (let seed = FIRST_SEED; seed < FIRST_SEED + runs; seed += 1) {
        const run = await simulate(seed, options)
        const count = (name: 'deadLettered' | 'observerStuck' | 'rangeHalted'): number =>
          run.fleet.hosts.reduce((sum, member) => sum + run.fleet.eventsOf(member, name).length, 0)
        seen.faults += run.faults
        seen.redrives += run.redrives
        seen.overwrites += run.overwrites
        seen.letters += count('deadLettered')
        seen.stuck += count('observerStuck')
        seen.halted += count('rangeHalted')
        for (const kind of KINDS) poisons[kind] = run.observers.happened[kind] + poisons[kind]
      }
      // A test of faults in which none happened would show nothing.
      expect(seen.faults).toBeGreaterThan(runs * 3)
      expect(seen.overwrites).toBeGreaterThan(runs)
      if (runs < 10) return
      expect(Math.min(...Object.values(poisons), seen.stuck)).toBeGreaterThan(0)
      if (options.mode === 'deadLetter') expect(seen.letters).toBeGreaterThan(runs)
      if (options.mode === 'deadLetter') expect(seen.redrives).toBeGreaterThan(runs)
      if (options.mode === 'haltRange') expect(seen.halted).toBeGreaterThan(0)
    },
    300_000,
  )

  test('O12 one seed is one history', async () => {
    const histories = []
    for (let round = 0; round < 2; round += 1) {
      const { fleet } = await simulate(7, { mode: 'deadLetter', hasLanes: true })
      histories.push(fleet.calls.map((call) => JSON.stringify(call)))
    }
    expect(histories[0]).toEqual(histories[1])
  })
})
