import type { Change } from '@tidemark/contracts'
import { assertRunsReadyWork, outsideOfReactions } from '../platform/run-ready-work.ts'
import { costOracle } from './oracles/cost.ts'
import { crashOracle } from './oracles/crash.ts'
import { deadlineOracle } from './oracles/deadline.ts'
import { deliveryOracle } from './oracles/delivery.ts'
import { endsOracle } from './oracles/ends.ts'
import { grantsOracle } from './oracles/grants.ts'
import type { MakeOracle, Oracle, Violation } from './oracles/oracle.ts'
import { movesOracle } from './oracles/moves.ts'
import { orderOracle } from './oracles/order.ts'
import { positionsOracle } from './oracles/positions.ts'
import { repetitionOracle } from './oracles/repetition.ts'
import { sinkOracle } from './oracles/sink.ts'
import { unstoredOracle } from './oracles/unstored.ts'
import { onUnhandledRejection } from './platform/on-unhandled-rejection.ts'
import type { FaultKind } from './schedule/fault.ts'
import type { Schedule } from './schedule/schedule.ts'
import { SeededRandom } from './time/seeded-random.ts'
import { Trace, type TraceEntry } from './time/trace.ts'
import { applyFault } from './world/apply-fault.ts'
import { healWorld, keepAlive, unrest, type Unrest } from './world/rest.ts'
import { loadSteadily } from './world/steady-load.ts'
import type { Workload } from './world/workload.ts'
import { HOST_TIMES, World } from './world/world.ts'

const ORACLES: readonly MakeOracle[] = [
  grantsOracle,
  positionsOracle,
  crashOracle,
  deliveryOracle,
  orderOracle,
  deadlineOracle,
  sinkOracle,
  repetitionOracle,
  unstoredOracle,
  endsOracle,
  costOracle,
  movesOracle,
]

/** What became of one schedule. */
export interface RunResult {
  readonly violation: Violation | undefined
  /** Over everything that happened: the same for the same schedule (O12). */
  readonly traceHash: string
  readonly events: number
  readonly changes: number
  /** All that was written, in the order of the commits. */
  readonly committed: readonly Change[]
  /** Changes that were given up. */
  readonly deadLetters: readonly Change[]
  /** The faults that hit something. */
  readonly faults: readonly FaultKind[]
  /** Simulated time. */
  readonly simulatedMs: number
  /** From the end of the faults until everything was at rest, ms of simulated time. */
  readonly restAfterMs: number
  /** The last of what happened. */
  readonly lastEvents: readonly TraceEntry[]
}

/**
 * Runs a schedule, and judges it: shipped hosts in simulated processes over a model of the lease store and of the feed, in
 * virtual time. Takes some milliseconds, of which the event loop is blocked.
 */
export function runSchedule(schedule: Schedule, workload?: Workload): Promise<RunResult> {
  return outsideOfReactions(() => {
    assertRunsReadyWork()
    return new Run(schedule, workload).run()
  })
}

/** A look at whether everything is at rest, so often. */
const LOOK_MS = 50

class Run {
  readonly #schedule: Schedule
  readonly #workload: Workload | undefined
  readonly #trace = new Trace()
  readonly #oracles: readonly Oracle[]
  readonly #world: World
  readonly #faults: FaultKind[] = []
  #violation: Violation | undefined

  constructor(schedule: Schedule, workload: Workload | undefined) {
    this.#schedule = schedule
    this.#workload = workload
    const verdict = { fail: (oracle: string, message: string) => this.#fail(oracle, message) }
    this.#oracles = ORACLES.map((make) => make(verdict, { schedule }))
    this.#world = new World({
      schedule,
      trace: this.#trace,
      workload,
      listeners: this.#oracles,
    })
  }

  run(): RunResult {
    const stopListening = onUnhandledRejection((reason) => {
      this.#fail('O6', `a promise was rejected and nobody cared: ${String(reason)}`)
    })
    let restAfterMs = 0
    try {
      this.#sufferFaults()
      if (!this.#isOver) restAfterMs = this.#comeToRest()
    } finally {
      stopListening()
    }
    return {
      violation: this.#violation,
      traceHash: this.#trace.hash,
      events: this.#trace.count,
      changes: this.#world.feed.changes.length,
      committed: this.#world.feed.changes.map(({ change }) => change),
      deadLetters: this.#world.deadLetters,
      faults: this.#faults,
      simulatedMs: this.#world.nowMs,
      restAfterMs,
      lastEvents: this.#trace.last(),
    }
  }

  get #isOver(): boolean {
    return this.#violation !== undefined
  }

  #sufferFaults(): void {
    const world = this.#world
    const { hosts, faults, faultsForMs, seed } = this.#schedule
    const random = SeededRandom.stream(seed, 5)
    for (let index = 0; index < hosts; index += 1) {
      world.time.after(random.below(1_500), () => void world.start(`h${index}`))
    }
    const commits = SeededRandom.stream(seed, 6)
    if (this.#workload === undefined) this.#planCommits(commits)
    else this.#planWorkload(this.#workload, commits)
    for (const fault of faults) {
      world.time.after(fault.atMs, () => {
        if (applyFault(world, fault)) this.#faults.push(fault.kind)
        for (const oracle of this.#oracles) oracle.fault?.(fault)
      })
    }
    world.time.run(faultsForMs, () => this.#isOver)
  }

  /** Ends all faults, and judges what is at rest. Returns after how long that was. */
  #comeToRest(): number {
    const world = this.#world
    healWorld(world)
    const restAfterMs = this.#untilRest()
    const { steadyForMs = 0 } = this.#schedule
    if (!this.#isOver && steadyForMs > 0) {
      for (const oracle of this.#oracles) oracle.steady?.(world)
      loadSteadily(world, steadyForMs)
      world.time.run(world.nowMs + steadyForMs, () => this.#isOver)
      if (!this.#isOver) this.#untilRest()
    }
    if (!this.#isOver) for (const oracle of this.#oracles) oracle.atRest?.(world)
    return restAfterMs
  }

  /** Waits until everything is as it should be. Returns for how long. */
  #untilRest(): number {
    const world = this.#world
    const { time } = world
    const healedMs = time.nowMs
    const limitMs = healedMs + restLimitMs(this.#schedule)
    let why: Unrest | undefined = unrest(world)
    while (why !== undefined && !this.#isOver && time.nowMs < limitMs) {
      time.run(time.nowMs + LOOK_MS, () => this.#isOver)
      keepAlive(world)
      why = unrest(world)
    }
    const restAfterMs = time.nowMs - healedMs
    if (!this.#isOver && why !== undefined)
      this.#fail(why.oracle, `${restAfterMs} ms after the end of all faults: ${why.message}`)
    return restAfterMs
  }

  #planCommits(random: SeededRandom): void {
    const { feed, time, schedule } = this.#world
    const keys = Array.from({ length: 12 }, (_, index) => `key${index}`)
    let number = 0
    let atMs = 0
    for (let commit = 0; commit < schedule.commits; commit += 1) {
      const key = random.pick(keys)
      const count = random.chance(0.15) ? random.between(2, 3) : 1
      // Many come in bursts, as they do.
      if (commit === 0 || random.chance(0.35)) atMs = random.below(schedule.faultsForMs)
      time.after(atMs + random.below(3), () => {
        const documents = Array.from({ length: count }, () => {
          number += 1
          return { key, document: { id: `${key}-${number}` } }
        })
        feed.append(documents)
      })
    }
  }

  /** In the given order, in bursts too. */
  #planWorkload({ documents }: Workload, random: SeededRandom): void {
    const { feed, time, schedule } = this.#world
    const chosen = documents.slice(0, schedule.commits)
    let burstMs = 0
    const times = chosen.map((_, index) => {
      if (index === 0 || random.chance(0.35)) burstMs = random.below(schedule.faultsForMs)
      return burstMs + random.below(3)
    })
    times.sort((a, b) => a - b)
    for (const [index, document] of chosen.entries()) {
      time.after(times[index] ?? 0, () => feed.append([document]))
    }
  }

  #fail(oracle: string, message: string): void {
    this.#violation ??= { oracle, message, atMs: this.#world.nowMs }
  }
}

/**
 * I8: TTL + 2 HB + the time to drain, and for observers that have just failed the longest pause before they are called
 * again. Where the store has lost data, a TTL more: for recovery, and for what only the next comparison of host and store
 * shows.
 */
function restLimitMs({ faults }: Schedule): number {
  const { ttlMs, heartbeatMs, handoffTimeoutMs, abortGraceMs, retryMaxDelayMs } = HOST_TIMES
  const drainMs = handoffTimeoutMs + abortGraceMs
  const isDamaged = faults.some(({ kind }) => kind === 'leaseDamage' || kind === 'storeCrash')
  const losesData =
    isDamaged || faults.some(({ kind }) => kind === 'storeWipe' || kind === 'storeRollback')
  // It is noticed by every tenth beat, unless something is under way just then.
  const noticedMs = isDamaged ? 21 * heartbeatMs : 0
  return (
    ttlMs + 2 * heartbeatMs + drainMs + retryMaxDelayMs + (losesData ? 2 * ttlMs : 0) + noticedMs
  )
}
