import type { Change, DocumentBody } from '@tidemark/contracts'
import { SimulationFailedError } from '../errors/simulation-failed-error.ts'
import { runSchedule, type RunResult } from '../run-schedule.ts'
import { FAULT_CLASSES, type FaultKind } from '../schedule/fault.ts'
import { generateSchedule } from '../schedule/generate-schedule.ts'
import type { Schedule } from '../schedule/schedule.ts'
import { shrinkSchedule } from '../shrink-schedule.ts'
import { SeededRandom } from '../time/seeded-random.ts'
import { traceText } from '../time/trace.ts'
import type {
  SimulatedObserverFactory,
  SimulateObserverOptions,
  SimulationReport,
} from './simulate-options.ts'
import { UserWorkload } from './user-workload.ts'

const DEFAULT_SEEDS = 200

/**
 * Runs your own observer under the shipped `ChangeFeedProcessorHost`, in simulated processes that are killed, stopped, cut off
 * and restarted, over a feed that splits and merges, and has `check` look at the outcome of each schedule. Some ms each; the
 * same seed is the same history.
 *
 * What your observer does to the outside goes through the `world` of the worker that it is given. Nothing else may take
 * time in it: no timers, no I/O.
 *
 * Rejects with ERR_SIMULATION_FAILED at the first schedule whose outcome is wrong: `check` threw, or not every change was
 * processed. It names the seed, and the fewest faults that show it.
 */
export async function simulateObserver<T extends DocumentBody, World>(
  factory: SimulatedObserverFactory<T, World>,
  options: SimulateObserverOptions<T, World>,
): Promise<SimulationReport> {
  const tally = new Tally()
  for (const seed of seedsOf(options)) {
    const schedule = typeof seed === 'number' ? scheduleOf(seed, options) : seed
    const run = await runOnce(schedule, factory, options)
    const { violation } = run.result
    if (violation !== undefined) {
      throw await failureOf(
        { ...run, schedule, result: { ...run.result, violation } },
        { passed: tally.schedules, again: (smaller) => runOnce(smaller, factory, options) },
      )
    }
    tally.add(run)
  }
  return tally.report
}

/** One run, with what the user's own code threw. */
interface ObservedRun {
  readonly result: RunResult
  readonly workload: { readonly delivered: number; readonly deliveredAgain: number }
  readonly cause: unknown
}

function seedsOf({
  seeds = DEFAULT_SEEDS,
}: Pick<SimulateObserverOptions<DocumentBody, unknown>, 'seeds'>): readonly (number | Schedule)[] {
  if (typeof seeds !== 'number') return seeds
  if (Number.isSafeInteger(seeds) && seeds >= 1) {
    return Array.from({ length: seeds }, (_, index) => index + 1)
  }
  throw new RangeError(`seeds is ${seeds}, and has to be a whole number above 0, or a list`)
}

function scheduleOf<T extends DocumentBody, World>(
  seed: number,
  { faults, hostSettings, feed }: SimulateObserverOptions<T, World>,
): Schedule {
  const allowed = faults ?? FAULT_CLASSES.filter((one) => one !== 'operator')
  const schedule = generateSchedule(seed, {
    allowed,
    balanceBy: hostSettings?.balanceBy ?? 'count',
  })
  return {
    ...schedule,
    settings: {
      ...schedule.settings,
      maxConcurrentKeys: 1,
      failurePolicy: 'retryForever',
      watchdog: false,
      ...hostSettings,
    },
    commits: documentsOf(seed, feed).length,
    // What is written is the user's.
    steadyForMs: undefined,
  }
}

function documentsOf<T extends DocumentBody>(
  seed: number,
  { documents }: SimulateObserverOptions<T, unknown>['feed'],
): readonly T[] {
  return typeof documents === 'function' ? documents(SeededRandom.stream(seed, 8)) : documents
}

async function runOnce<T extends DocumentBody, World>(
  schedule: Schedule,
  factory: SimulatedObserverFactory<T, World>,
  { feed, world: makeWorld, check }: SimulateObserverOptions<T, World>,
): Promise<ObservedRun> {
  const world = makeWorld()
  const documents = documentsOf(schedule.seed, feed).map((document) => ({
    key: feed.partitionKey(document),
    document,
  }))
  const workload = new UserWorkload({ documents, factory, world })
  const result = await runSchedule(schedule, workload)
  if (result.violation !== undefined) {
    const message = `${result.violation.message}${workload.hint}`
    return {
      result: { ...result, violation: { ...result.violation, message } },
      workload,
      cause: workload.lastError,
    }
  }
  try {
    await check({
      seed: schedule.seed,
      world,
      // The documents that the feed was given are of this type.
      changes: result.committed as readonly Change<T>[],
      deadLetters: result.deadLetters as readonly Change<T>[],
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const violation = { oracle: 'check', message, atMs: result.simulatedMs }
    return { result: { ...result, violation }, workload, cause: error }
  }
  return { result, workload, cause: undefined }
}

async function failureOf(
  found: ObservedRun & Parameters<typeof shrinkSchedule>[0],
  {
    passed,
    again,
  }: {
    readonly passed: number
    readonly again: (schedule: Schedule) => Promise<ObservedRun>
  },
): Promise<SimulationFailedError> {
  const runs = new Map<RunResult, ObservedRun>()
  const { schedule, result } = await shrinkSchedule(found, async (smaller) => {
    const run = await again(smaller)
    runs.set(run.result, run)
    return run.result
  })
  const { violation, lastEvents } = result
  const shown = [...runs.values()].findLast((run) => run.result.violation === violation) ?? found
  return new SimulationFailedError(
    { seed: schedule.seed, schedule, violation, trace: traceText(lastEvents), passed },
    shown.cause === undefined ? {} : { cause: shown.cause },
  )
}

/** What all runs add up to. */
class Tally {
  readonly #faults: Partial<Record<FaultKind, number>> = {}
  #report: Omit<SimulationReport, 'faults'> = {
    schedules: 0,
    changes: 0,
    delivered: 0,
    deliveredAgain: 0,
    simulatedMs: 0,
  }

  get schedules(): number {
    return this.#report.schedules
  }

  get report(): SimulationReport {
    return { ...this.#report, faults: this.#faults }
  }

  add({ result, workload }: ObservedRun): void {
    const { schedules, changes, delivered, deliveredAgain, simulatedMs } = this.#report
    this.#report = {
      schedules: schedules + 1,
      changes: changes + result.changes,
      delivered: delivered + workload.delivered,
      deliveredAgain: deliveredAgain + workload.deliveredAgain,
      simulatedMs: simulatedMs + result.simulatedMs,
    }
    for (const kind of result.faults) this.#faults[kind] = (this.#faults[kind] ?? 0) + 1
  }
}
